import { createLogger } from '@headset-cloud/runtime/logger.ts';
import { createFakeTime } from '@headset-cloud/runtime/testing/fake-time.ts';
import type { Delivery } from '../domain/delivery.ts';
import { DestinationHealths } from './destination-health.ts';
import type { Probes } from './probes.ts';
import { Scheduler, type SchedulerOptions } from './scheduler.ts';

/** A store that answers renewals when the test releases them, and gets no other calls. */
function slowStore() {
  const waiting: (() => void)[] = [];
  let asked = 0;
  return {
    waiting,
    asked: () => asked,
    renew: (ids: readonly string[]) => {
      asked += 1;
      return new Promise<ReadonlySet<string>>((resolve) => waiting.push(() => resolve(new Set(ids))));
    },
    nextLaneWithWork: async () => undefined,
  };
}

test('a slow database gets one renewal of leases at a time', async () => {
  const store = slowStore();
  const leaseMs = 60;
  const time = createFakeTime();
  const options = {
    time,
    logger: createLogger({ service: 'notifier', level: 'silent' }),
    ...{ random: Math.random, instanceId: 'a', store, leaseMs, sweepMs: 60_000 },
    lanes: { windowSize: 10, unsetRetryMs: 1000 },
    maxInMemory: 10,
    writer: { flush: async () => {} },
    records: { lacks: () => false, recorded: async () => true, change: () => {}, stop: () => {} },
    // Nothing is sent: only the leases are checked.
    attempts: { abort: () => {} },
    healths: new DestinationHealths({
      watch: { failed: () => {}, delivered: () => {}, unset: () => {} },
      ...{ logger: createLogger({ service: 'notifier', level: 'silent' }), random: Math.random },
      rules: { maxInFlight: 0, failingAfter: 1, probeFirstMs: 1000, probeMaxMs: 1000 },
      probesOf: () => ({}) as Probes,
    }),
  } as unknown as SchedulerOptions;
  const scheduler = new Scheduler(options);
  const body = Buffer.from('{}');
  const delivery = { id: 'one', applicationId: 'a-1', destination: 'deviceEvent', body } as Delivery;
  scheduler.accept([{ ...delivery, owner: 'a', dueAtMs: time.now() }]);
  scheduler.start();
  await time.advance(leaseMs / 3);
  expect(store.asked()).toBe(1);
  await time.advance(2 * leaseMs);
  expect(store.asked()).toBe(1);
  for (const answer of store.waiting.splice(0)) answer();
  await time.advance(leaseMs / 3);
  expect(store.asked()).toBe(2);
  await scheduler.stop();
});
