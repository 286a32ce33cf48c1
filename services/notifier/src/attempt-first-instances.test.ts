import type { Answer } from '@headset-cloud/demo/integrator/server.ts';
import type { EventLog, LogEvent, Subscription, Unsettled } from '@headset-cloud/eventlog/types.ts';
import { topics } from '@headset-cloud/eventlog/types.ts';
import type { Time } from '@headset-cloud/runtime/clock.ts';
import { createFakeTime } from '@headset-cloud/runtime/testing/fake-time.ts';
import { waitFor } from '@headset-cloud/runtime/testing/wait.ts';
import { delivered, event, useArrivals } from './testing/arrivals.ts';
import { ids, seen, useWorld } from './testing/fixture.ts';
import { createManualClocks } from './testing/manual-clocks.ts';
import { encode } from './testing/world.ts';

const use = useWorld();

const arrivals = useArrivals(use);
const { answers, atArrival, record, arrived, hold, storeAsOthers } = arrivals;
const deliveries = () => use.world.store.collection('deliveries');
type Event = ReturnType<typeof event>;

/** A notifier whose partitions the test assigns, like Kafka. */
async function member(
  env: Record<string, string> = {},
  overrides: { time?: Time; random?: () => number } = {},
) {
  let subscription: Subscription | undefined;
  const notifier = await use.world.start(env, {
    ...overrides,
    log: (log): EventLog => ({
      ensureTopics: (names) => log.ensureTopics(names),
      publish: (topic, events) => log.publish(topic, events),
      readNewest: (topic, limit) => log.readNewest(topic, limit),
      lag: (group, topic) => log.lag(group, topic),
      committed: (group, topic) => log.committed(group, topic),
      notReady: () => undefined,
      close: async () => {},
      async subscribe(wanted) {
        subscription = wanted;
        return { notReady: () => undefined, close: async () => {} };
      },
    }),
  });
  const unsettled: Unsettled[] = [];
  const state = { held: true };
  const handle = async (from: number, ...events: Event[]) => {
    await subscription?.handle(
      events.map(
        (one, i): LogEvent => ({
          topic: topics.notifications,
          key: 'k',
          value: encode(one),
          headers: {},
          position: `0:${from + i}`,
          timestampMs: Date.now(),
        }),
      ),
      { held: () => state.held, durable: async () => {}, settlesWith: (some) => void unsettled.push(some) },
    );
  };
  return { notifier, handle, unsettled, state };
}

test('a repeated event does not hide events that another instance has handled in between', async () => {
  const a = await member({ NOTIFIER_LEASE_MS: '60000' });
  const b = await member({ NOTIFIER_LEASE_MS: '60000' });
  await a.handle(0, event('n-1', { orderKey: 't-1', sequence: 1 }));
  await delivered(a.notifier, 'n-1');
  // The partition belongs to b, for one event.
  const second = hold('n-2');
  await b.handle(1, event('n-2', { orderKey: 't-1', sequence: 2 }));
  await arrived('n-2');
  // The partition belongs to a again. The publisher repeats the first event, and continues.
  await a.handle(
    2,
    event('n-1', { orderKey: 't-1', sequence: 1 }),
    event('n-3', { orderKey: 't-1', sequence: 3 }),
  );
  await waitFor('it was sent, or is stored as waiting', async () => {
    return atArrival.has('n-3') || (await record('n-3')) !== null;
  });
  second.resolve({ status: 500 });
  await delivered(b.notifier, 'n-2');
  await delivered(a.notifier, 'n-3');
  expect(ids(arrivals.server)).toEqual(['n-1', 'n-2', 'n-3']);
});

test('a callback that turns out to belong to another instance during its attempt is not retried here', async () => {
  const time = createManualClocks();
  // Failed attempts are repeated after the same pause.
  const a = await member({ NOTIFIER_LEASE_MS: '60000' }, { time, random: () => 0.5 });
  await a.handle(0, event('known'));
  await delivered(a.notifier, 'known');
  const answer = hold('n-1');
  await a.handle(1, event('n-1'));
  await arrived('n-1');
  await storeAsOthers('n-1', { dueAtMs: Date.now() + 60_000 });
  // The callback must be recorded after a second, and then belongs to the other instance.
  time.pass(1001);
  await Promise.all(a.unsettled.map(({ durable }) => durable));
  answer.resolve({ status: 500 });
  const failed = 'headset_callback_attempts_total{outcome="failed"} 1';
  await waitFor('it has failed', async () => (await a.notifier.metrics.metrics()).includes(failed));
  // Another callback fails later and is retried. The first callback would have been retried before.
  hold('n-2').resolve({ status: 500 });
  await a.handle(2, event('n-2'));
  await waitFor('its attempt is stored', async () => (await record('n-2'))?.attempts === 1);
  // NOTIFIER_BACKOFF_MAX_MS of the tests.
  time.pass(50);
  await delivered(a.notifier, 'n-2');
  expect(seen(arrivals.server)).toEqual(['known', 'n-1', 'n-2', 'n-2']);
});

test('over all partitions at most 500 callbacks are without a record', async () => {
  const a = await member({
    NOTIFIER_ENDPOINT_CONCURRENCY: '300',
    NOTIFIER_ENDPOINT_WINDOW: '5000',
    NOTIFIER_LEASE_MS: '60000',
  });
  await a.handle(0, event('known'));
  await delivered(a.notifier, 'known');
  const batch = (of: string) => Array.from({ length: 500 }, (_, i) => event(`${of}-${i}`));
  const open = Promise.withResolvers<Answer>();
  for (const { notificationId } of [...batch('x'), ...batch('y')])
    answers.set(notificationId ?? '', () => open.promise);
  await Promise.all([a.handle(1, ...batch('x')), a.handle(1000, ...batch('y'))]);
  const stored = await deliveries().countDocuments({});
  const without = 1001 - stored;
  open.resolve({ status: 204 });
  await waitFor(
    'all are delivered',
    async () => (await deliveries().countDocuments({ status: 'delivered' })) === 1001,
  );
  expect(without).toBeLessThanOrEqual(500);
});

test('a late progress is dropped after an end that is not recorded yet', async () => {
  const a = await member({ NOTIFIER_LEASE_MS: '60000' });
  await a.handle(0, event('known'));
  await delivered(a.notifier, 'known');
  const end = hold('end');
  await a.handle(1, event('end', { orderKey: 't-1', sequence: 4 }));
  await arrived('end');
  await a.handle(2, event('progress', { orderKey: 't-1', sequence: 3, replaceable: true }));
  expect(await record('progress')).toBeNull();
  end.resolve({ status: 204 });
  await delivered(a.notifier, 'end');
  expect(seen(arrivals.server)).toEqual(['known', 'end']);
});

test('a progress that was taken over is sent before the callbacks that wait for it, recorded or not', async () => {
  const env = { NOTIFIER_LEASE_MS: '60000', NOTIFIER_ENDPOINT_CONCURRENCY: '1' };
  const a = await member(env, { time: createManualClocks() });
  await a.handle(0, event('known'));
  await delivered(a.notifier, 'known');
  // The only slot is in use while the instance takes over the callback that a frozen process was about to send.
  const other = hold('other');
  await a.handle(1, event('other'));
  await arrived('other');
  const frozen = { owner: 'frozen', dueAtMs: 1 };
  await storeAsOthers('progress', { ...frozen, orderKey: 't-1', sequence: 2, replaceable: true });
  await waitFor('it is taken over', async () => (await record('progress'))?.takenOver === true);
  // The slot is not free before the answer to the claim is handled. A write that begins later ends later.
  await storeAsOthers('later', { dueAtMs: Date.now() + 60_000 });
  await new Promise((resolve) => setImmediate(resolve));
  await a.handle(2, event('end', { orderKey: 't-1', sequence: 3 }));
  expect(await record('end')).toBeNull();
  other.resolve({ status: 204 });
  await delivered(a.notifier, 'end');
  // Otherwise the frozen process could send it first now, after the end.
  expect(seen(arrivals.server)).toEqual(['known', 'other', 'progress', 'end']);
});

test('on the embedded log the members of a group keep the order of a transaction', async () => {
  const first = await use.world.start({ NOTIFIER_LEASE_MS: '60000' });
  await use.world.start({ NOTIFIER_LEASE_MS: '60000' });
  await use.world.start({ NOTIFIER_LEASE_MS: '60000' });
  for (const n of [1, 2, 3, 4, 5, 6]) {
    await use.world.publish(event(`known-${n}`));
    await delivered(first, `known-${n}`);
  }
  const one = hold('n-1');
  await use.world.publish(event('n-1', { orderKey: 't-1', sequence: 1 }));
  await arrived('n-1');
  await use.world.publish(event('n-2', { orderKey: 't-1', sequence: 2 }));
  await waitFor('it was sent, or is stored as waiting', async () => {
    return atArrival.has('n-2') || (await record('n-2')) !== null;
  });
  one.resolve({ status: 500 });
  await delivered(first, 'n-2');
  await delivered(first, 'n-1');
  expect(ids(arrivals.server).filter((id) => id.startsWith('n-'))).toEqual(['n-1', 'n-2']);
});

test('a callback that is stored for any instance does not overtake one that is being sent and not recorded', async () => {
  const a = await member({ NOTIFIER_ENDPOINT_WINDOW: '1', NOTIFIER_LEASE_MS: '60000' });
  await a.handle(0, event('known'));
  await delivered(a.notifier, 'known');
  const b = await member({ NOTIFIER_LEASE_MS: '60000' });
  const one = hold('n-1');
  await a.handle(1, event('n-1', { orderKey: 't-1', sequence: 1 }));
  await arrived('n-1');
  await a.handle(2, event('n-2', { orderKey: 't-1', sequence: 2 }));
  await waitFor('b has it', async () => (await record('n-2'))?.owner !== null || atArrival.has('n-2'));
  await waitFor('it was sent, or the callback before it is stored', async () => {
    return atArrival.has('n-2') || (await record('n-1')) !== null;
  });
  one.resolve({ status: 500 });
  await delivered(b.notifier, 'n-1');
  await delivered(b.notifier, 'n-2');
  expect(ids(arrivals.server)).toEqual(['known', 'n-1', 'n-2']);
});

test('nor does it if both are in one batch', async () => {
  const a = await member({ NOTIFIER_ENDPOINT_WINDOW: '1', NOTIFIER_LEASE_MS: '60000' });
  await a.handle(0, event('known'));
  await delivered(a.notifier, 'known');
  const b = await member({ NOTIFIER_LEASE_MS: '60000' });
  const one = hold('n-1');
  await a.handle(
    1,
    event('n-1', { orderKey: 't-1', sequence: 1 }),
    event('n-2', { orderKey: 't-1', sequence: 2 }),
  );
  await arrived('n-1');
  await waitFor('it was sent, or the callback before it is stored', async () => {
    return atArrival.has('n-2') || (await record('n-1')) !== null;
  });
  one.resolve({ status: 500 });
  await delivered(b.notifier, 'n-1');
  await delivered(b.notifier, 'n-2');
  expect(ids(arrivals.server)).toEqual(['known', 'n-1', 'n-2']);
});

test('a callback is stored only after the callbacks before it: if this process dies, others see the order', async () => {
  const a = await member({ NOTIFIER_LEASE_MS: '60000' });
  await a.handle(0, event('known'));
  await delivered(a.notifier, 'known');
  const one = hold('n-1');
  await a.handle(1, event('n-1', { orderKey: 't-1', sequence: 1 }));
  await arrived('n-1');
  a.state.held = false;
  await a.handle(2, event('n-2', { orderKey: 't-1', sequence: 2 }));
  const before = await record('n-1');
  one.resolve({ status: 204 });
  await delivered(a.notifier, 'n-2');
  expect(before).toMatchObject({ status: 'pending' });
});

test('a stop while the disk does not answer ends within its time limit', async () => {
  const time = createFakeTime(Date.now());
  const a = await use.world.start({ NOTIFIER_LEASE_MS: '60000' }, { time });
  await use.world.publish(event('known'));
  await waitFor('its record', async () => {
    await time.advance(10);
    return (await record('known'))?.status === 'delivered';
  });
  hold('n-1');
  await use.world.publish(event('n-1'));
  await arrived('n-1');
  use.world.disk.hold();
  let hasEnded = false;
  const stopped = a.stop(4000).finally(() => {
    hasEnded = true;
  });
  let leftMs = 4000;
  await waitFor('the end', async () => {
    await time.advance(Math.min(leftMs, 50));
    leftMs = Math.max(0, leftMs - 50);
    return hasEnded;
  });
  await stopped;
  use.world.disk.release();
});
