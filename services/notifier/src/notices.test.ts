import type { IntegratorServer } from '@headset-cloud/demo/integrator/server.ts';
import { Destination } from '@headset-cloud/proto/notifier/v1/events_pb.ts';
import { waitFor } from '@headset-cloud/runtime/testing/wait.ts';
import type { DeliveryDocument } from './store/documents.ts';
import { ids, key, useWorld } from './testing/fixture.ts';
import { createManualClocks, type ManualClocks } from './testing/manual-clocks.ts';

const use = useWorld();
const afterMs = 250;
const everyMs = 250;
const env = {
  NOTIFIER_NOTICE_AFTER_MS: String(afterMs),
  NOTIFIER_NOTICE_EVERY_MS: String(everyMs),
  NOTIFIER_FAILING_AFTER: '1',
};
const failing = 'notify-destination-failing';
const recovered = 'notify-destination-recovered';
const dead = 'notify-deliveries-dead';

/** A server that fails until it is opened, and a server for notices. */
async function servers(status = 503) {
  const state = { open: false };
  const server = await use.integrator(() => ({ status: state.open ? 204 : status }));
  const notified = await use.integrator();
  register('deviceEvent', server);
  register('noticeEvent', notified);
  return { server, notified, state };
}

function register(setting: string, server: IntegratorServer, applicationId = 'a-1'): void {
  use.world.destinations.set(`${applicationId}/${setting}`, {
    url: `${server.origin}/${setting}`,
    authenticationKey: key,
  });
}

const event = (notificationId: string) => ({ notificationId, applicationId: 'a-1' });
const many = (count: number, name = 'n') => Array.from({ length: count }, (_, i) => event(`${name}-${i}`));

/** The notices of an application in its feed. */
async function notices(applicationId = 'a-1') {
  const events: Awaited<ReturnType<typeof use.world.newest.feed.readEvents>>['events'] = [];
  for (let after = ''; ; ) {
    const answer = await use.world.newest.feed.readEvents({ applicationId, limit: 1000, after });
    events.push(...answer.events);
    after = answer.cursor;
    if (!answer.more) break;
  }
  return events
    .filter(({ destination }) => destination === 'noticeEvent')
    .map((one) => ({ ...one, body: JSON.parse(one.body) }));
}
const typesOf = async (applicationId?: string) => (await notices(applicationId)).map(({ type }) => type);
/** Waits for notices while `time` advances. */
const notified = (type: string, count = 1, time?: ManualClocks) =>
  waitFor(`${count} of ${type}`, async () => {
    time?.pass(everyMs / 10);
    const found = (await notices()).filter((one) => one.type === type);
    return found.length >= count && found;
  });
const stateOf = async (deliveryId: string) => {
  const found = await use.world.newest.deliveries.readDelivery({ applicationId: 'a-1', deliveryId });
  return found.delivery?.state;
};
const received = (server: IntegratorServer, type: string) =>
  server.received.filter(({ body }) => body.operationId === type);
const documents = (name: string) => use.world.store.collection<DeliveryDocument>(name);
let others = 0;
/**
 * Waits until another application has one notice of each type, for an outage and a dead callback that begin now. A
 * notice that was due earlier has been decided before that.
 */
async function laterNotices(time?: ManualClocks): Promise<void> {
  const applicationId = `other-${++others}`;
  let status = 503;
  register('deviceEvent', await use.integrator(() => ({ status })), applicationId);
  register('soraEvent', await use.integrator(() => ({ status: 410 })), applicationId);
  await use.world.publish(
    { applicationId, notificationId: `${applicationId}-failing` },
    { applicationId, notificationId: `${applicationId}-dead`, destination: Destination.SORA_EVENT },
  );
  const all = (...types: string[]) =>
    waitFor('later notices', async () => {
      time?.pass(everyMs / 10);
      const found = await typesOf(applicationId);
      return types.every((type) => found.includes(type));
    });
  await all(failing, dead);
  status = 204;
  await all(recovered);
  await waitFor('all its data to be removed', async () => {
    return (await documents('outages').findOne({ _id: `${applicationId}/deviceEvent` })) === null;
  });
}
const stored = (status: DeliveryDocument['status'], count: number) =>
  waitFor(`${count} are ${status}`, async () => {
    return (await documents('deliveries').countDocuments({ status, destination: 'deviceEvent' })) === count;
  });

test('a long failure causes one notice, and so does the recovery: signed, in order, in the feed and in the metrics', async () => {
  const { notified: server, state } = await servers();
  const notifier = await use.world.start(env);
  const before = Date.now();
  await use.world.publish(...many(3));
  const [notice] = await notified(failing);
  expect(notice?.body).toMatchObject({
    ...{ applicationId: 'a-1', operationId: failing, destination: 'deviceEvent', waiting: 3 },
    ...{ reason: 'answered', message: expect.stringContaining('other than 2xx') },
  });
  const { timestamp, sinceTimestamp } = notice?.body ?? {};
  expect(sinceTimestamp).toBeGreaterThanOrEqual(before);
  expect(timestamp - sinceTimestamp).toBeGreaterThanOrEqual(afterMs - 1);
  const metric = async (name: string) => await notifier.metrics.getSingleMetricAsString(name);
  expect(await metric('headset_endpoints_failing')).toContain('headset_endpoints_failing 1');
  await waitFor('it to arrive', () => server.received.length === 1);
  await laterNotices();
  state.open = true;
  await notified(recovered);
  await waitFor('it to arrive', () => server.received.length === 2);
  await laterNotices();
  expect(await typesOf()).toEqual([failing, recovered]);
  expect(server.received.map(({ body, verified }) => [body.operationId, verified])).toEqual([
    [failing, true],
    [recovered, true],
  ]);
  expect(ids(server)).toEqual((await notices()).map(({ eventId }) => eventId));
  expect(server.received[1]?.body.sinceTimestamp).toBe(sinceTimestamp);
  const counts = await metric('headset_notices_total');
  // Two of each belong to the other applications.
  for (const type of [failing, recovered]) expect(counts).toContain(`{type="${type}"} 3`);
  expect(await metric('headset_endpoints_failing')).toContain('headset_endpoints_failing 0');
  expect(await documents('outages').countDocuments({})).toBe(0);
});

test('without a URL for notices they are only in the feed, and no call sends them', async () => {
  const { server, notified: other, state } = await servers();
  use.world.destinations.delete('a-1/noticeEvent');
  await use.world.start(env);
  await use.world.publish(event('n-1'));
  const [notice] = await notified(failing);
  const deliveryId = notice?.eventId ?? '';
  expect(await stateOf(deliveryId)).toBe('unsent');
  const caller = { clientId: 'c-1', applicationId: 'a-1' };
  const again = use.world.newest.deliveries.sendAgain({ caller, deliveryId, force: true });
  await expect(again).rejects.toMatchObject({
    code: 'conflict',
    message: expect.stringContaining('only in the event feed'),
  });
  const { deliveries } = await use.world.newest.deliveries.findDeliveries({
    ...{ applicationId: 'a-1', state: 'unsent', destination: 'noticeEvent' },
  });
  expect(deliveries.map((one) => one.deliveryId)).toEqual([deliveryId]);
  // A URL that is registered later gets notices that are decided after that.
  register('noticeEvent', other);
  state.open = true;
  await waitFor('the recovery', () => received(other, recovered).length === 1);
  expect(await stateOf(deliveryId)).toBe('unsent');
  expect(server.arrivals.every(({ path }) => path === '/deviceEvent')).toBe(true);
});

// protects against callbacks/notice-loop
test('a failure of the URL for notices, and dead notices, cause notices in the feed only', async () => {
  const { server } = await servers(410);
  let status = 503;
  const broken = await use.integrator(() => ({ status }));
  register('noticeEvent', broken);
  await use.world.start(env);
  await use.world.publish(event('n-1'));
  // The notice about the dead callbacks cannot be delivered.
  const [first] = await notified(dead);
  const [about] = await notified(failing);
  expect(about?.body.destination).toBe('noticeEvent');
  expect(await stateOf(about?.eventId ?? '')).toBe('unsent');
  // The server rejects it permanently.
  status = 410;
  await waitFor('it is dead', async () => (await stateOf(first?.eventId ?? '')) === 'dead');
  const [, second] = await notified(dead, 2);
  expect(second?.body).toMatchObject({ count: 1, firstWebhookId: first?.eventId });
  expect(await stateOf(second?.eventId ?? '')).toBe('unsent');
  await laterNotices();
  expect(await typesOf()).toEqual([dead, failing, dead]);
  expect(new Set(broken.arrivals.map(({ webhookId }) => webhookId))).toEqual(new Set([first?.eventId]));
  expect(server.arrivals).toHaveLength(1);
});

test('a failing server gets no notice about itself through another setting, but it gets the recovery', async () => {
  const { server, state } = await servers();
  register('noticeEvent', server);
  await use.world.start(env);
  await use.world.publish(event('n-1'));
  const [notice] = await notified(failing);
  expect(await stateOf(notice?.eventId ?? '')).toBe('unsent');
  state.open = true;
  await waitFor('the recovery', () => received(server, recovered).length === 1);
  expect(received(server, failing)).toEqual([]);
});

test('each setting of one failing server gets a notice', async () => {
  const { server } = await servers();
  register('soraEvent', server);
  await use.world.start(env);
  await use.world.publish(event('n-1'), { ...event('n-2'), destination: 2 });
  await notified(failing, 2);
  await laterNotices();
  const found = await notices();
  expect(found.map(({ body }) => body.destination).sort()).toEqual(['deviceEvent', 'soraEvent']);
});

// protects against callbacks/notice-flood
test('a burst of dead callbacks is one notice with their number, later ones are another; the notice contains the recovery call', async () => {
  const { server, notified: to, state } = await servers(410);
  const time = createManualClocks();
  await use.world.start(env, { time });
  await use.world.publish(...many(30));
  await stored('dead', 30);
  const [notice] = await notified(dead, 1, time);
  expect(notice?.body).toMatchObject({ applicationId: 'a-1', operationId: dead, count: 30 });
  const { firstWebhookId, lastWebhookId, recover } = notice?.body ?? {};
  expect(many(30).map(({ notificationId }) => notificationId)).toEqual(
    expect.arrayContaining([firstWebhookId, lastWebhookId]),
  );
  await waitFor('it to arrive', () => received(to, dead).length === 1);
  await use.world.publish(...many(5, 'later'));
  await stored('dead', 35);
  const [, second] = await notified(dead, 2, time);
  expect(second?.body.count).toBe(5);
  await laterNotices(time);
  expect(await typesOf()).toEqual([dead, dead]);
  state.open = true;
  const sinceMs = BigInt(Date.parse(recover.since));
  const caller = { clientId: 'c-1', applicationId: 'a-1' };
  const { count } = await use.world.newest.deliveries.recover({ caller, sinceMs });
  expect(count).toBe(35);
  await waitFor('all of them', () => server.received.length === 35);
});

test('a notice that names a forgotten device is removed with it; forgetting an application removes all its notices', async () => {
  const device = '350000000000001';
  await servers(410);
  use.world.destinations.delete('a-1/noticeEvent');
  const time = createManualClocks();
  const { admin } = await use.world.start(env, { time });
  await use.world.publish(event(`device-${device}-7`), event('device-350000000000002-8'));
  await stored('dead', 2);
  const [notice] = await notified(dead, 1, time);
  expect(notice?.body.count).toBe(2);
  const forget = (deviceId: string, dryRun = false) =>
    admin.forgetDevice({ deviceId, run: 'run', reference: 'R', dryRun });
  expect((await forget(device, true)).forgotten[0]).toMatchObject({ what: 'callbacks', removed: 2, left: 0 });
  expect((await forget(device)).forgotten[0]).toMatchObject({ removed: 2, left: 0 });
  expect(await notices()).toEqual([]);
  expect(JSON.stringify(await documents('feeds').find({}).toArray())).not.toContain(device);
  register('deviceEvent', await use.integrator(() => ({ status: 503 })));
  await use.world.publish(event('n-1'));
  await notified(failing, 1, time);
  const all = () => admin.forgetApplication({ applicationId: 'a-1', run: 'run', reference: 'R' });
  await all();
  await waitFor('it is forgotten', async () => {
    time.pass(1000);
    await all();
    const left = ['deliveries', 'outages'].map((name) => documents(name).countDocuments({}));
    return (await Promise.all(left)).every((count) => count === 0);
  });
});
