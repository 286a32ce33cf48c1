import { waitFor } from '@headset-cloud/kit/testing/wait.ts';
import { ids, status, useWorld } from './testing/fixture.ts';

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

test('an application without any destination reads all of its callbacks, as they would be sent', async () => {
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

test('what was delivered, replaced and given up is in the feed once, and sending it again does not change that', async () => {
  let open = false;
  const server = await use.integrator(() => ({ status: open ? 204 : 410 }));
  use.pointTo('a-1', server);
  const notifier = await use.world.start();
  await use.world.publish({ notificationId: 'dead', applicationId: 'a-1' });
  await waitFor('its end', async () => (await status(notifier, 'dead').catch(() => '')) === 'dead');
  expect((await readAll()).events.map(({ eventId }) => eventId)).toEqual(['dead']);
  open = true;
  await notifier.admin.redeliverDelivery({ notificationId: 'dead' });
  await waitFor('its delivery', () => ids(server).includes('dead'));
  const event = { applicationId: 'a-1', orderKey: 'tx-1' };
  await use.world.publish(
    { ...event, notificationId: 'tx-1-progress-1', sequence: 2, replaceable: true },
    { ...event, notificationId: 'tx-1-processed', sequence: 3 },
  );
  await waitFor('the end of the transaction', () => ids(server).includes('tx-1-processed'));
  // A repeat of the log is none of the feed's.
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

test('a progress that was stored behind what followed it, and is never sent, has no place; one before has', async () => {
  const server = await use.integrator();
  use.pointTo('a-1', server);
  const notifier = await use.world.start();
  const event = { applicationId: 'a-1', orderKey: 'tx-1' };
  const progress = (n: number) => ({
    ...event,
    notificationId: `tx-1-progress-${n}`,
    sequence: n,
    replaceable: true,
  });
  const placed = async () => (await readAll()).events.map(({ eventId }) => eventId);
  await use.world.publish({ ...event, notificationId: 'tx-1-accepted', sequence: 1 }, progress(2));
  await waitFor('the first', async () => (await placed()).length === 2);
  await use.world.publish(progress(4), { ...event, notificationId: 'tx-1-processed', sequence: 5 });
  await waitFor('the end', async () => (await placed()).length === 4);
  const before = await placed();
  await use.world.publish(progress(3), { notificationId: 'last', applicationId: 'a-1' });
  await waitFor('it is replaced', async () => {
    return (await status(notifier, 'tx-1-progress-3').catch(() => '')) === 'replaced';
  });
  await waitFor('the last one', async () => (await placed()).includes('last'));
  expect(await placed()).toEqual([...before, 'last']);
  expect(before).toEqual(['tx-1-accepted', 'tx-1-progress-2', 'tx-1-progress-4', 'tx-1-processed']);
  expect(ids(server)).not.toContain('tx-1-progress-3');
  // It does not wait for a place for ever either.
  expect(await use.world.store.collection('deliveries').countDocuments({ unplaced: true })).toBe(0);
});

test('a limit above the bound, and a cursor of nobody, are refused', async () => {
  await use.world.start();
  const read = (request: object) => use.world.newest.feed.readEvents({ applicationId: 'a-1', ...request });
  await expect(read({ limit: 1001 })).rejects.toMatchObject({ code: 'invalid_argument' });
  await expect(read({ after: 'x' })).rejects.toMatchObject({ code: 'invalid_argument' });
  await expect(read({ applicationId: '' })).rejects.toMatchObject({ code: 'invalid_argument' });
});

test('forgetting a device takes its name off the pages of the feed; the other places stay', async () => {
  const server = await use.integrator();
  use.pointTo('a-1', server);
  const notifier = await use.world.start();
  await use.world.publish(
    { notificationId: `device-${device}-5`, applicationId: 'a-1' },
    { notificationId: 'n-2', applicationId: 'a-1' },
  );
  await waitFor('both', async () => (await status(notifier, 'n-2').catch(() => '')) === 'delivered');
  const first = await notifier.feed.readEvents({ applicationId: 'a-1', limit: 1 });
  // Sent again, it has a further place.
  const notificationId = `device-${device}-5`;
  await waitFor('its end', async () => (await status(notifier, notificationId)) === 'delivered');
  await notifier.admin.redeliverDelivery({ notificationId });
  await waitFor('its end', async () => (await status(notifier, notificationId)) === 'delivered');
  const again = await notifier.feed.readEvents({ applicationId: 'a-1', withResends: true });
  expect(again.events.map(({ eventId, resends }) => [eventId, resends])).toContainEqual([notificationId, 1]);
  await notifier.admin.forgetDevice({ deviceId: device, reference: 'r-1', run: 'run-1' });
  const pages = await use.world.store.collection('feed_pages').find({}).toArray();
  expect(JSON.stringify(pages)).not.toContain(device);
  const rest = await notifier.feed.readEvents({ applicationId: 'a-1', after: first.cursor });
  expect(rest.events.map(({ eventId }) => eventId)).toEqual(['n-2']);
  await notifier.admin.forgetApplication({ applicationId: 'a-1', reference: 'r-2', run: 'run-2' });
  expect(await use.world.store.collection('feed_pages').countDocuments()).toBe(0);
  expect(await use.world.store.collection('feeds').countDocuments()).toBe(0);
});
