import { waitFor } from '@headset-cloud/runtime/testing/wait.ts';
import { ids, seen, useWorld } from './testing/fixture.ts';
import { onceStored } from './testing/world.ts';

const use = useWorld();

test('a new process delivers callbacks of an older process in order, and given-back ones at once', async () => {
  let open = false;
  const server = await use.integrator(() => ({ status: open ? 204 : 500 }));
  use.pointTo('a-1', server);
  const first = await use.world.start();
  const event = { applicationId: 'a-1', orderKey: 't-1' };
  await use.world.publish(
    ...[1, 2, 3].map((sequence) => ({ ...event, notificationId: `n-${sequence}`, sequence })),
  );
  await waitFor('it was tried', () => server.arrivals.length > 1);
  await first.stop();
  open = true;
  await use.world.start({ NOTIFIER_LEASE_MS: '60000' });
  await waitFor('all have arrived', () => server.received.length === 3);
  expect(ids(server)).toEqual(['n-1', 'n-2', 'n-3']);
});

test('a stopping process gives back waiting callbacks at once, and lets requests in flight end', async () => {
  const held = Promise.withResolvers<void>();
  const asked: string[] = [];
  const server = await use.integrator(async ({ webhookId }) => {
    asked.push(webhookId);
    if (webhookId === 'n-1') await held.promise;
    return { status: 204 };
  });
  use.pointTo('a-1', server);
  // One request at a time, and leases that do not expire during the test.
  const config = { NOTIFIER_ENDPOINT_CONCURRENCY: '1', NOTIFIER_LEASE_MS: '60000' };
  const first = await use.world.start(config);
  await use.world.publish(
    { notificationId: 'n-1', applicationId: 'a-1', orderKey: 't-1', sequence: 1 },
    { notificationId: 'n-2', applicationId: 'a-1', orderKey: 't-1', sequence: 2 },
    { notificationId: 'n-3', applicationId: 'a-1', orderKey: 't-2', sequence: 1 },
  );
  await waitFor('the first is in flight', () => asked.length === 1);
  const stopped = first.stop(30_000);
  await use.world.start(config);
  await waitFor('the other order key was sent by the next', () => ids(server).includes('n-3'));
  held.resolve();
  await stopped;
  await waitFor('all have arrived', () => server.received.length === 3);
  expect(asked).toHaveLength(3);
  expect(ids(server).filter((id) => id !== 'n-3')).toEqual(['n-1', 'n-2']);
});

test('callbacks of a dead process are taken over when their leases have expired', async () => {
  const server = await use.integrator();
  use.pointTo('a-1', server);
  const crash = onceStored();
  const first = await use.world.start({}, { crash });
  await use.world.publish({ notificationId: 'n-1', applicationId: 'a-1' });
  await waitFor('it died', () => crash.cutAt === undefined);
  await first.stop();
  await use.world.start();
  await waitFor('it has arrived', () => server.received.length === 1);
  expect(seen(server)).toEqual(['n-1']);
});

test('callbacks of a dead process are sent first, although callbacks that wait for them fill the memory of the next process', async () => {
  const server = await use.integrator();
  use.pointTo('a-1', server);
  const crash = onceStored();
  const window = { NOTIFIER_ENDPOINT_WINDOW: '1000' };
  const first = await use.world.start(window, { crash });
  const keys = Array.from({ length: 40 }, (_, i) => `t-${i}`);
  const events = (sequence: number) =>
    keys.map((orderKey) => {
      return { notificationId: `${orderKey}.${sequence}`, applicationId: 'a-1', orderKey, sequence };
    });
  await use.world.publish(...events(1));
  await waitFor('it died', () => crash.cutAt === undefined);
  await first.stop();
  await use.world.start({ NOTIFIER_ENDPOINT_WINDOW: '8', NOTIFIER_MAX_IN_MEMORY: '20' });
  await use.world.publish(...events(2));
  await waitFor('all have arrived', () => server.received.length === 2 * keys.length);
  for (const orderKey of keys) {
    const arrived = ids(server).filter((id) => id.startsWith(`${orderKey}.`));
    expect(arrived).toEqual([`${orderKey}.1`, `${orderKey}.2`]);
  }
});

test('several instances on one database send each callback once and keep the order of an order key', async () => {
  const server = await use.integrator();
  use.pointTo('a-1', server);
  // Only one of them consumes. The others claim callbacks that do not fit its window.
  // No lease may expire while all instances are stopped, because another instance would then send again, correctly.
  const config = { NOTIFIER_ENDPOINT_WINDOW: '7', NOTIFIER_LEASE_MS: '60000' };
  for (let i = 0; i < 3; i++) await use.world.start(config);
  const keys = Array.from({ length: 40 }, (_, i) => `t-${i}`);
  const order = [1, 2, 3, 4];
  await use.world.publish(
    ...order.flatMap((sequence) =>
      keys.map((orderKey) => {
        return { notificationId: `${orderKey}.${sequence}`, applicationId: 'a-1', orderKey, sequence };
      }),
    ),
  );
  await waitFor('all have arrived', () => server.received.length === keys.length * order.length);
  expect(server.arrivals).toHaveLength(keys.length * order.length);
  for (const orderKey of keys) {
    expect(ids(server).filter((id) => id.startsWith(`${orderKey}.`))).toEqual(
      order.map((sequence) => `${orderKey}.${sequence}`),
    );
  }
});

// protects against callbacks/large-backlog
test('large callbacks to a server that hangs use no more memory than many small ones, and all arrive', async () => {
  const held = Promise.withResolvers<void>();
  let asked = 0;
  const server = await use.integrator(async () => {
    asked += 1;
    await held.promise;
    return { status: 204 };
  });
  use.pointTo('a-1', server);
  await use.world.start({ NOTIFIER_ENDPOINT_WINDOW: '40', NOTIFIER_ENDPOINT_CONCURRENCY: '2' });
  const many = 30;
  await use.world.publish(
    ...Array.from({ length: many }, (_, i) => ({
      notificationId: `n-${i}`,
      applicationId: 'a-1',
      body: Buffer.from(JSON.stringify({ id: `n-${i}`, text: 'x'.repeat(64 * 1024 - 100) })),
    })),
  );
  const deliveries = use.world.store.collection<{ _id: string; owner: string | null }>('deliveries');
  await waitFor('all are stored', async () => (await deliveries.countDocuments({})) === many);
  await waitFor('requests hang', () => asked > 0);
  const owned = await deliveries.countDocuments({ owner: { $ne: null } });
  expect(owned).toBeGreaterThanOrEqual(5);
  expect(owned).toBeLessThanOrEqual(6);
  held.resolve();
  await waitFor('all have arrived', () => server.received.length === many);
});
