import { status } from '@grpc/grpc-js';
import { topics } from '@headset-cloud/eventlog/types.ts';
import { createFakeTime, type FakeTime } from '@headset-cloud/runtime/testing/fake-time.ts';
import { waitFor } from '@headset-cloud/runtime/testing/wait.ts';
import { deviceId, type Instance, otherDeviceId, passUntil, World } from '../testing/world.ts';

/** Published reports of headsets without a session (rule A21). */

const offlineAfterMs = 60_000;

let world: World;
let time: FakeTime;
beforeEach(() => {
  world = new World();
  time = createFakeTime(Date.now());
});
afterEach(() => world.close());

const start = () => world.start({ DEVICE_LINK_OFFLINE_AFTER_MS: offlineAfterMs }, undefined, time, time);
const offline = async () =>
  (await world.reports(topics.deviceReports)).filter(({ body }) => body.case === 'offline');
/** Returns the events after a headset is reported; time passes meanwhile. */
const firstOffline = () =>
  waitFor('the event', async () => {
    await time.advance(1000);
    const all = await offline();
    return all.length > 0 && all;
  });
const ended = (instance: Instance) =>
  waitFor('the end of the session', async () => {
    const { sessionEpochs } = await instance.delivery.getPresence({ deviceIds: [deviceId] });
    return sessionEpochs[deviceId] === undefined;
  });

it('a headset that stays away is reported as offline, a headset that has a session is not', async () => {
  const instance = await start();
  const first = world.dial(instance, { hello: {} });
  await first.next('welcome');
  const second = world.dial(instance, { id: otherDeviceId, hello: {} });
  await second.next('welcome');
  first.close();
  second.close();
  await ended(instance);
  await world.dial(instance, { id: otherDeviceId, hello: {} }).next('welcome');
  expect(await firstOffline()).toEqual([expect.objectContaining({ deviceId, sessionEpoch: 1n })]);
});

// protects against headsets/offline-suppressed
it('failed look-ups of keys for callers without a valid key delay no report', async () => {
  const instance = await start();
  const headset = world.dial(instance, { hello: {} });
  await headset.next('welcome');
  headset.close();
  await ended(instance);
  const fromMs = time.now();
  world.keys = undefined;
  const all = await waitFor('the event', async () => {
    await world.dial(instance, { id: otherDeviceId, hello: {} }).ended(status.UNAVAILABLE);
    await time.advance(1500);
    const found = await offline();
    return (found.length > 0 || time.now() - fromMs > 2 * offlineAfterMs) && found;
  });
  expect(all).toEqual([expect.objectContaining({ deviceId, sessionEpoch: 1n })]);
});

it('a headset whose registration was stored without an answer is reported as offline', async () => {
  const instance = await start();
  world.cutAt = 'after store device-link.sessions.findOneAndUpdate';
  const headset = world.dial(instance, { hello: {} });
  await waitFor('the registration', () => world.cutAt === undefined);
  headset.close();
  expect(await firstOffline()).toEqual([expect.objectContaining({ deviceId, sessionEpoch: 1n })]);
});

it('the next instance reports the sessions that a stopped one left', async () => {
  const a = await start();
  await world.dial(a, { hello: {} }).next('welcome');
  await waitFor('the hello on the log', async () => (await world.reports()).length === 1);
  // The stop waits for the headsets to leave.
  await passUntil(time, a.service.stop());
  await start();
  expect(await firstOffline()).toEqual([expect.objectContaining({ deviceId, sessionEpoch: 1n })]);
});
