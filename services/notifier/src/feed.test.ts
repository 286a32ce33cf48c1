import { waitFor } from '@headset-cloud/runtime/testing/wait.ts';
import { ids, seen, status, useWorld } from './testing/fixture.ts';

const use = useWorld();
const device = '350000000000001';
const body = (operationId: string) => Buffer.from(JSON.stringify({ operationId, deviceId: device }));

async function readAll(limit = 100) {
  const events: { eventId: string; type: string; body: string; deviceId: string }[] = [];
  for (let after = ''; ; ) {
    const answer = await use.world.newest.feed.readEvents({ applicationId: 'a-1', after, limit });
    events.push(...answer.events);
    after = answer.cursor;
    if (!answer.more) return { events, cursor: after };
  }
}

test('an application without any destination can read all of its callbacks', async () => {
  await use.world.start();
  const text = '{"operationId":"notify-boot", "deviceId":"350000000000001", "n":12345678901234567890}';
  await use.world.publish(
    { notificationId: 'n-1', applicationId: 'a-1', body: Buffer.from(text) },
    { notificationId: 'n-2', applicationId: 'a-1', body: body('notify-volume') },
    { notificationId: 'other', applicationId: 'a-2', body: body('notify-volume') },
  );
  await waitFor('both', async () => (await readAll()).events.length === 2);
  expect((await readAll()).events).toMatchObject([
    { eventId: 'n-1', type: 'notify-boot', body: text, deviceId: device },
    { eventId: 'n-2', type: 'notify-volume', deviceId: device },
  ]);
});

test('delivered, replaced and dead callbacks are in the feed once, also after they are sent again', async () => {
  let open = false;
  const server = await use.integrator(() => ({ status: open ? 204 : 410 }));
  use.pointTo('a-1', server);
  const notifier = await use.world.start();
  await use.world.publish({ notificationId: 'dead', applicationId: 'a-1' });
  await waitFor('its end', async () => (await status(notifier, 'dead').catch(() => '')) === 'dead');
  await waitFor('it in the feed', async () => (await readAll()).events.length === 1);
  open = true;
  await notifier.admin.redeliverDelivery({ notificationId: 'dead' });
  await waitFor('its delivery', () => ids(server).includes('dead'));
  const event = { applicationId: 'a-1', orderKey: 'tx-1' };
  await use.world.publish(
    { ...event, notificationId: 'tx-1-progress-1', sequence: 2, replaceable: true },
    { ...event, notificationId: 'tx-1-processed', sequence: 3 },
  );
  await waitFor('the end of the transaction', () => ids(server).includes('tx-1-processed'));
  // A repeated event of the log is not in the feed.
  await use.world.publish({ ...event, notificationId: 'tx-1-processed', sequence: 3 });
  await use.world.publish({ notificationId: 'last', applicationId: 'a-1' });
  await waitFor('the last one', () => ids(server).includes('last'));
  await waitFor('it in the feed', async () =>
    (await readAll()).events.some(({ eventId }) => eventId === 'last'),
  );
  expect((await readAll(2)).events.map(({ eventId }) => eventId)).toEqual([
    'dead',
    'tx-1-progress-1',
    'tx-1-processed',
    'last',
  ]);
});

test('a progress that was published after a later event is dropped; an earlier progress stays', async () => {
  const server = await use.integrator();
  use.pointTo('a-1', server);
  await use.world.start();
  const event = { applicationId: 'a-1', orderKey: 'tx-1' };
  const progress = (n: number) => ({
    ...event,
    notificationId: `tx-1-progress-${n}`,
    sequence: n,
    replaceable: true,
  });
  const last = { notificationId: 'last', applicationId: 'a-1' };
  await use.world.publish({ ...event, notificationId: 'tx-1-accepted', sequence: 1 }, progress(2));
  await use.world.publish(progress(4), { ...event, notificationId: 'tx-1-processed', sequence: 5 });
  await waitFor('the end', () => ids(server).includes('tx-1-processed'));
  await use.world.publish(progress(3), last);
  await waitFor('the last one', async () =>
    (await readAll()).events.some(({ eventId }) => eventId === 'last'),
  );
  expect((await readAll()).events.map(({ eventId }) => eventId)).toEqual([
    ...['tx-1-accepted', 'tx-1-progress-2', 'tx-1-progress-4', 'tx-1-processed', 'last'],
  ]);
  expect(ids(server)).not.toContain('tx-1-progress-3');
});

test('a repeated event, before or after its delivery, keeps its first position', async () => {
  await use.world.start();
  const a = { notificationId: 'a', applicationId: 'a-1', body: body('notify-boot') };
  const b = { ...a, notificationId: 'b' };
  await use.world.publish(a, a, b);
  await waitFor('both', async () => (await readAll()).events.length === 2);
  const { cursor } = await readAll();
  await use.world.publish(a, { ...a, notificationId: 'c' });
  await waitFor('the third', async () => (await readAll()).events.length === 3);
  expect((await readAll()).events.map(({ eventId }) => eventId)).toEqual(['a', 'b', 'c']);
  const rest = await use.world.newest.feed.readEvents({ applicationId: 'a-1', after: cursor });
  expect(rest.events.map(({ eventId }) => eventId)).toEqual(['c']);
});

test('a callback of release 0.1.0, which has no position, is in no feed, but can be listed and sent again', async () => {
  const server = await use.integrator();
  use.pointTo('a-1', server);
  const notifier = await use.world.start();
  await use.world.publish({ notificationId: 'old', applicationId: 'a-1' });
  await waitFor('its end', async () => (await status(notifier, 'old').catch(() => '')) === 'delivered');
  await use.world.store.collection('deliveries').updateMany({}, { $unset: { position: '' } });
  await use.world.publish({ notificationId: 'new', applicationId: 'a-1' });
  await waitFor('the new one', async () => (await readAll()).events.length === 1);
  const { deliveries } = await notifier.deliveries.findDeliveries({ applicationId: 'a-1' });
  expect(deliveries.map(({ deliveryId }) => deliveryId).sort()).toEqual(['new', 'old']);
  await notifier.admin.redeliverDelivery({ notificationId: 'old' });
  await waitFor('it arrives', () => seen(server).filter((id) => id === 'old').length === 2);
});

test('a limit above the maximum and an unknown cursor are rejected', async () => {
  await use.world.start();
  const read = (request: object) => use.world.newest.feed.readEvents({ applicationId: 'a-1', ...request });
  await expect(read({ limit: 1001 })).rejects.toMatchObject({ code: 'invalid_argument' });
  await expect(read({ after: 'x' })).rejects.toMatchObject({ code: 'invalid_argument' });
  await expect(read({ applicationId: '' })).rejects.toMatchObject({ code: 'invalid_argument' });
});

test('forgetting a device removes its events from the feed; other events stay after their cursors', async () => {
  const server = await use.integrator();
  use.pointTo('a-1', server);
  const notifier = await use.world.start();
  await use.world.publish(
    { notificationId: `device-${device}-5`, applicationId: 'a-1' },
    { notificationId: 'n-2', applicationId: 'a-1' },
  );
  await waitFor('both', async () => (await status(notifier, 'n-2').catch(() => '')) === 'delivered');
  await waitFor('both in the feed', async () => (await readAll()).events.length === 2);
  const first = await notifier.feed.readEvents({ applicationId: 'a-1', limit: 1 });
  // After it was sent again, it has a second position.
  const notificationId = `device-${device}-5`;
  await waitFor('its end', async () => (await status(notifier, notificationId)) === 'delivered');
  await notifier.admin.redeliverDelivery({ notificationId });
  await waitFor('its end', async () => (await status(notifier, notificationId)) === 'delivered');
  const again = await notifier.feed.readEvents({ applicationId: 'a-1', withResends: true });
  expect(again.events.map(({ eventId, resends }) => [eventId, resends])).toContainEqual([notificationId, 1]);
  await notifier.admin.forgetDevice({ deviceId: device, reference: 'r-1', run: 'run-1' });
  const feeds = await use.world.store.collection('feeds').find({}).toArray();
  expect(JSON.stringify(feeds)).not.toContain(device);
  const rest = await notifier.feed.readEvents({ applicationId: 'a-1', after: first.cursor });
  expect(rest.events.map(({ eventId }) => eventId)).toEqual(['n-2']);
  await notifier.admin.forgetApplication({ applicationId: 'a-1', reference: 'r-2', run: 'run-2' });
  expect(await use.world.store.collection('feeds').countDocuments()).toBe(0);
});
