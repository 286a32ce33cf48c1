import { topics } from '@headset-cloud/kit/eventlog/types.ts';
import { waitFor } from '@headset-cloud/kit/testing/wait.ts';
import { deviceId, otherDeviceId, World } from '../testing/world.ts';

/** Headsets without a session, as the other services hear of them (rule A21). */

let world: World;
beforeEach(() => {
  world = new World();
});
afterEach(() => world.close());

const offline = async () =>
  (await world.reports(topics.deviceReports)).filter(({ body }) => body.case === 'offline');

it('a headset that stays away is told to be offline, one that has a session is not', async () => {
  const instance = await world.start({ DEVICE_LINK_OFFLINE_AFTER_MS: 400 });
  const first = world.dial(instance, { hello: {} });
  await first.next('welcome');
  const second = world.dial(instance, { id: otherDeviceId, hello: {} });
  await second.next('welcome');
  first.close();
  second.close();
  // Back at once: whatever the machine's speed, its newest session is there when the other is told.
  await world.dial(instance, { id: otherDeviceId, hello: {} }).next('welcome');
  const [told] = await waitFor('the event', async () => {
    const all = await offline();
    return all.some((event) => event.deviceId === deviceId) && all;
  });
  expect(told).toMatchObject({ deviceId, sessionEpoch: 1n });
  const newest = (await offline()).filter((event) => event.deviceId === otherDeviceId);
  expect(newest.filter((event) => event.sessionEpoch === 2n)).toEqual([]);
});

it('a headset whose registration was stored without an answer is told to be offline', async () => {
  const instance = await world.start({
    DEVICE_LINK_OFFLINE_AFTER_MS: 400,
    DEVICE_LINK_LEASE_MS: 1500,
  });
  world.cutAt = 'device-link.registered';
  const headset = world.dial(instance, { hello: {} });
  await waitFor('the registration', () => world.cutAt === undefined);
  headset.close();
  const [told] = await waitFor('the event', async () => {
    const all = await offline();
    return all.length > 0 && all;
  });
  expect(told).toMatchObject({ deviceId, sessionEpoch: 1n });
});

it('the next instance tells of the sessions that a stopped one left', async () => {
  const a = await world.start({ DEVICE_LINK_OFFLINE_AFTER_MS: 400 });
  await world.dial(a, { hello: {} }).next('welcome');
  await a.service.stop();
  await world.start({ DEVICE_LINK_OFFLINE_AFTER_MS: 400 });
  const [told] = await waitFor('the event', async () => {
    const all = await offline();
    return all.length > 0 && all;
  });
  expect(told).toMatchObject({ deviceId, sessionEpoch: 1n });
});
