import { topics } from '@headset-cloud/eventlog/types.ts';
import { systemTime } from '@headset-cloud/runtime/clock.ts';
import { waitFor } from '@headset-cloud/runtime/testing/wait.ts';
import { delivered, event, useArrivals } from './testing/arrivals.ts';
import { key, seen, useWorld } from './testing/fixture.ts';
import { createManualClocks } from './testing/manual-clocks.ts';
import type { TestNotifier } from './testing/world.ts';

const use = useWorld();

const arrivals = useArrivals(use);
const { answers, atArrival, record, arrived, hold, storeAsOthers } = arrivals;
/** NOTIFIER_BACKOFF_MAX_MS of the tests. */
const longestPauseMs = 50;
const lag = () => use.world.log.lag('notifier', topics.notifications);

/**
 * A notifier that has delivered a callback, so it knows that the destination accepts callbacks. By default its clocks
 * stand still, so no callback in flight is recorded because of its age.
 */
async function knowing(
  env: Record<string, string> = {},
  overrides: Parameters<typeof use.world.start>[1] = {},
): Promise<TestNotifier> {
  const notifier = await use.world.start(env, { time: createManualClocks(), ...overrides });
  await use.world.publish(event('known'));
  await delivered(notifier, 'known');
  return notifier;
}

test('a callback to a healthy destination is sent first, and stored once, with its attempt', async () => {
  const notifier = await knowing();
  const answer = hold('n-1');
  await use.world.publish(event('n-1'));
  await arrived('n-1');
  expect(atArrival.get('known')).toMatchObject({ status: 'pending' });
  expect(atArrival.get('n-1')).toBeNull();
  // A new process would start with this event.
  expect(await lag()).toBe(1);
  answer.resolve({ status: 204 });
  await delivered(notifier, 'n-1');
  const { delivery, recentAttempts } = await notifier.admin.getDelivery({ notificationId: 'n-1' });
  expect(delivery).toMatchObject({ attempts: 1, lastOutcome: '204' });
  expect(recentAttempts).toMatchObject([{ statusCode: 204 }]);
  await waitFor('the offset to be committed', async () => (await lag()) === 0);
  expect(seen(arrivals.server)).toEqual(['known', 'n-1']);
});

test('a callback in flight for a second is stored, with a lease, and the offset is committed', async () => {
  const time = createManualClocks();
  const notifier = await knowing({ NOTIFIER_LEASE_MS: '60000' }, { time });
  const answer = hold('n-1');
  await use.world.publish(event('n-1'));
  await arrived('n-1');
  expect(await record('n-1')).toBeNull();
  time.pass(1001);
  await waitFor('the record', async () => (await record('n-1'))?.status === 'pending');
  expect(await record('n-1')).toMatchObject({ owner: expect.any(String), attempts: 0 });
  await waitFor('the offset to be committed', async () => (await lag()) === 0);
  answer.resolve({ status: 204 });
  await delivered(notifier, 'n-1');
  expect(seen(arrivals.server)).toEqual(['known', 'n-1']);
});

test('other events of the log do not wait for a callback in flight', async () => {
  const notifier = await knowing();
  const answer = hold('n-1');
  await use.world.publish(event('n-1'));
  await arrived('n-1');
  await use.world.publish(event('n-2'));
  await delivered(notifier, 'n-2');
  expect(await record('n-1')).toBeNull();
  answer.resolve({ status: 204 });
  await delivered(notifier, 'n-1');
});

test('a failed attempt is stored, and later callbacks are sent in order', async () => {
  const time = createManualClocks();
  const notifier = await knowing({}, { time });
  let tries = 0;
  answers.set('n-1', () => ({ status: tries++ === 0 ? 500 : 204 }));
  const order = { orderKey: 't-1' };
  await use.world.publish(...[1, 2, 3].map((sequence) => event(`n-${sequence}`, { ...order, sequence })));
  await waitFor('the failed attempt is stored', async () => (await record('n-1'))?.attempts === 1);
  time.pass(longestPauseMs);
  await delivered(notifier, 'n-3');
  expect(seen(arrivals.server)).toEqual(['known', 'n-1', 'n-1', 'n-2', 'n-3']);
  expect(atArrival.get('n-1')).toBeNull();
  await waitFor('all are stored', async () => (await lag()) === 0);
  expect(await record('n-1')).toMatchObject({ status: 'delivered', attempts: 2 });
});

test('a permanently rejected callback finishes its order only when its end is stored', async () => {
  const notifier = await knowing();
  answers.set('n-1', () => ({ status: 410 }));
  const stored: unknown[] = [];
  answers.set('n-2', async () => {
    stored.push((await record('n-1'))?.status);
    return { status: 204 };
  });
  await use.world.publish(...[1, 2].map((sequence) => event(`n-${sequence}`, { orderKey: 't-1', sequence })));
  await delivered(notifier, 'n-2');
  expect(stored).toEqual(['dead']);
});

test('an event that is repeated while its callback is in flight causes no second callback', async () => {
  const notifier = await knowing();
  const answer = hold('n-1');
  await use.world.publish(event('n-1'));
  await arrived('n-1');
  await use.world.publish(event('n-1'), event('n-2'));
  await delivered(notifier, 'n-2');
  expect(await lag()).toBeGreaterThan(0);
  answer.resolve({ status: 204 });
  await delivered(notifier, 'n-1');
  await waitFor('the offset to be committed', async () => (await lag()) === 0);
  await use.world.publish(event('n-1'), event('n-3'));
  await delivered(notifier, 'n-3');
  expect(seen(arrivals.server).sort()).toEqual(['known', 'n-1', 'n-2', 'n-3']);
});

test('no callback is sent before its event is on disk', async () => {
  const notifier = await knowing();
  const other = await use.integrator();
  use.world.destinations.set('a-2', { url: other.url, authenticationKey: key });
  use.world.disk.hold();
  const published = use.world.publish(event('n-1'));
  await waitFor('the notifier has the event', async () => (await lag()) === 1);
  // Requests that need no disk are sent meanwhile.
  const request = { applicationId: 'a-2', setting: 'fileUploadGetUrl', body: Buffer.from('{}') };
  for (let n = 0; n < 20; n++) await notifier.signedUrls.requestSignedUrls(request).catch(() => {});
  expect(other.arrivals).toHaveLength(20);
  expect(seen(arrivals.server)).toEqual(['known']);
  use.world.disk.release();
  await published;
  await delivered(notifier, 'n-1');
  expect(atArrival.get('n-1')).toBeNull();
});

test('no callback to a failing or missing destination is sent before it is stored', async () => {
  const notifier = await knowing({ NOTIFIER_FAILING_AFTER: '1' }, { time: systemTime });
  answers.set('n-1', () => ({ status: 503 }));
  await use.world.publish(event('n-1'));
  await waitFor('it has failed', async () => ((await record('n-1'))?.attempts ?? 0) > 0);
  await use.world.publish(event('n-2'));
  await waitFor('it is stored', async () => (await record('n-2')) !== null);
  answers.delete('n-1');
  await delivered(notifier, 'n-2');
  expect(atArrival.get('n-2')).toMatchObject({ status: 'pending' });
  use.world.destinations.set('a-1', { url: '', authenticationKey: '' });
  await use.world.publish(event('n-3'));
  await waitFor('it is stored', async () => (await record('n-3')) !== null);
  await use.world.publish(event('n-4'));
  await waitFor('it is stored', async () => (await record('n-4')) !== null);
  use.pointTo('a-1', arrivals.server);
  await delivered(notifier, 'n-4');
  expect(atArrival.get('n-4')).toMatchObject({ status: 'pending' });
});

test('a callback that waits while its destination begins to fail is stored before it is sent', async () => {
  const one = { NOTIFIER_FAILING_AFTER: '1', NOTIFIER_ENDPOINT_CONCURRENCY: '1' };
  const time = createManualClocks();
  const notifier = await knowing(one, { time });
  const answer = hold('n-1');
  await use.world.publish(event('n-1'), event('n-2'));
  await arrived('n-1');
  expect(await record('n-2')).toBeNull();
  answer.resolve({ status: 503 });
  await waitFor('it has failed', async () => ((await record('n-1'))?.attempts ?? 0) > 0);
  // Advance until the first probe.
  time.pass(50);
  await delivered(notifier, 'n-1');
  await delivered(notifier, 'n-2');
  expect([atArrival.get('n-1'), atArrival.get('n-2')]).toEqual([
    null,
    expect.objectContaining({ status: 'pending' }),
  ]);
});

test('if the partition may belong to another instance, no callback is sent before it is stored', async () => {
  let held = true;
  const notifier = await knowing(
    {},
    {
      log: (log) => ({
        ensureTopics: (topics) => log.ensureTopics(topics),
        publish: (topic, events) => log.publish(topic, events),
        readNewest: (topic, limit) => log.readNewest(topic, limit),
        lag: (group, topic) => log.lag(group, topic),
        committed: (group, topic) => log.committed(group, topic),
        notReady: () => log.notReady(),
        close: () => log.close(),
        subscribe: (subscription) =>
          log.subscribe({
            ...subscription,
            handle: (events, batch) =>
              subscription.handle(events, {
                held: () => held,
                durable: () => batch.durable(),
                settlesWith: (unsettled) => batch.settlesWith(unsettled),
              }),
          }),
      }),
    },
  );
  await use.world.publish(event('n-1'));
  await delivered(notifier, 'n-1');
  expect(atArrival.get('n-1')).toBeNull();
  held = false;
  await use.world.publish(event('n-2'));
  await delivered(notifier, 'n-2');
  expect(atArrival.get('n-2')).toMatchObject({ status: 'pending' });
});

test('a stopping notifier stores callbacks in flight at once, and nothing is sent twice', async () => {
  const config = { NOTIFIER_LEASE_MS: '60000' };
  const first = await knowing(config);
  const answer = hold('n-1');
  await use.world.publish(event('n-1'), event('n-2', { orderKey: 'n-1', sequence: 2 }));
  await arrived('n-1');
  const stopped = first.stop(30_000);
  await waitFor('the record', async () => (await record('n-1'))?.status === 'pending');
  const second = await use.world.start(config);
  answer.resolve({ status: 204 });
  await stopped;
  await delivered(second, 'n-1');
  await delivered(second, 'n-2');
  expect(seen(arrivals.server)).toEqual(['known', 'n-1', 'n-2']);
});

describe('if another instance has stored the same callback meanwhile', () => {
  const stored = (id: string) => storeAsOthers(id, { dueAtMs: Date.now() + 60_000 });

  test('a callback that was delivered here is delivered', async () => {
    const notifier = await knowing();
    const answer = hold('n-1');
    await use.world.publish(event('n-1'));
    await arrived('n-1');
    await stored('n-1');
    answer.resolve({ status: 204 });
    await delivered(notifier, 'n-1');
    expect(await record('n-1')).toMatchObject({ owner: null });
    await waitFor('the offset to be committed', async () => (await lag()) === 0);
  });

  test('a callback that failed here belongs to the other instance', async () => {
    await knowing();
    const answer = hold('n-1');
    await use.world.publish(event('n-1'));
    await arrived('n-1');
    await stored('n-1');
    answer.resolve({ status: 500 });
    await waitFor('the offset to be committed', async () => (await lag()) === 0);
    await use.world.publish(event('n-2'));
    await arrived('n-2');
    expect(await record('n-1')).toMatchObject({ status: 'pending', owner: 'other', attempts: 0 });
    expect(seen(arrivals.server)).toEqual(['known', 'n-1', 'n-2']);
  });
});
