import { openTestBed, type TestBed } from '@headset-cloud/embedded/testing/bed.ts';
import { noFailpoints } from '@headset-cloud/kit/failpoints.ts';
import { createLogger } from '@headset-cloud/kit/logger.ts';
import { createFakeTime, type FakeTime } from '@headset-cloud/kit/testing/fake-time.ts';
import type { Notice } from '../domain/notice.ts';
import { createOutageStore } from '../store/notices.ts';
import { Outages } from './outages.ts';

const lane = 'a-1/deviceEvent';
const hourMs = 3_600_000;
const afterMs = 300;
const stepMs = 20;
let bed: TestBed;
let time: FakeTime;
let stored: Notice[];
let waiting: number;
let running: Outages[];
beforeEach(() => {
  bed = openTestBed('notifier', { onMongo: true });
  time = createFakeTime();
  [stored, waiting, running] = [[], 1, []];
});
afterEach(() => bed.remove());

/** An instance that looks only when `look` is called. Its wall clock is ahead by `aheadMs`. */
function instance(after = afterMs, aheadMs = 0): Outages {
  const clocks = { ...time, now: () => time.now() + aheadMs };
  const outages = new Outages({
    store: createOutageStore(bed.store, clocks),
    notices: {
      isRegisteredElsewhere: async () => true,
      isRegisteredFor: async () => true,
      waiting: async () => waiting,
      store: async (notices) => {
        for (const one of notices) if (!stored.some(({ id }) => id === one.id)) stored.push(one);
      },
    },
    ...{ time: clocks, logger: createLogger({ service: 'notifier', level: 'silent' }) },
    ...{ failpoints: noFailpoints, afterMs: after },
  });
  running.push(outages);
  return outages;
}

const types = () => stored.map(({ type }) => type.replace('notify-destination-', ''));
const open = () => bed.store.collection('outages').countDocuments({});
/** All running instances look, at the same time. */
const look = () => Promise.all(running.map((one) => one.look()));
/** Attempts of these instances fail, again and again, during the next `ms`; the last one fails one step before their end. */
async function failFor(ms: number, ...instances: Outages[]): Promise<void> {
  for (let passedMs = 0; passedMs < ms; passedMs += stepMs) {
    for (const one of instances) one.failed(lane, 'time_out');
    await look();
    await time.advance(stepMs);
  }
}

test('what one instance sees fail and another one sees succeed is no outage', async () => {
  const longMs = 1000;
  const [a, b] = [instance(longMs), instance(longMs)];
  // Together these failures last longer than an outage needs.
  for (const endMs = time.monotonicNow() + 3 * longMs; time.monotonicNow() < endMs; ) {
    while ((await open()) === 0) await failFor(stepMs, a);
    b.delivered(lane);
    await look();
    expect(await open()).toBe(0);
  }
  expect(types()).toEqual([]);
  // From here on it is one, seen by an instance that has seen nothing before.
  running = [];
  const c = instance(longMs);
  await failFor(longMs, c);
  expect(types()).toEqual([]);
  await failFor(stepMs, c);
  expect(types()).toEqual(['failing']);
});

test('an outage goes on from one instance to the next: its time counts from the first', async () => {
  const longMs = 2000;
  const a = instance(longMs);
  while ((await open()) === 0) await failFor(stepMs, a);
  running = [];
  // As a had stored it soon before its notice.
  const outages = bed.store.collection<{ _id: string; sinceMs: number; forMs: number }>('outages');
  await outages.updateOne({ _id: lane }, { $set: { forMs: 0.95 * longMs } });
  const first = await outages.findOne({ _id: lane });
  const b = instance(longMs);
  const beganMs = time.monotonicNow();
  while (types().length === 0) await failFor(stepMs, b);
  expect(time.monotonicNow() - beganMs).toBeLessThan(longMs);
  expect(types()).toEqual(['failing']);
  expect(JSON.parse(stored[0]?.body ?? '').sinceTimestamp).toBe(first?.sinceMs);
  // Any instance that sees a success ends it.
  const c = instance();
  c.delivered(lane);
  await look();
  expect(types()).toEqual(['failing', 'recovered']);
  expect(await open()).toBe(0);
  await failFor(longMs / 2, b);
  expect(types()).toEqual(['failing', 'recovered']);
});

test('two instances, one with a clock an hour ahead, decide one notice of an outage, not before its time, and one of its end', async () => {
  const [a, b] = [instance(), instance(afterMs, hourMs)];
  await failFor(afterMs, a, b);
  expect(types()).toEqual([]);
  await failFor(10 * afterMs, a, b);
  expect(types()).toEqual(['failing']);
  for (const one of [a, b]) one.delivered(lane);
  for (let n = 0; n < 10; n++) {
    await look();
    await time.advance(afterMs);
  }
  expect(types()).toEqual(['failing', 'recovered']);
  expect(await open()).toBe(0);
});

test('time without attempts does not count, nor is told what nothing waits for', async () => {
  const a = instance();
  await failFor(afterMs / 2, a);
  expect(await open()).toBe(1);
  for (let n = 0; n < 10; n++) {
    await time.advance(afterMs);
    await look();
  }
  expect(types()).toEqual([]);
  waiting = 0;
  await failFor(2 * afterMs, a);
  expect(types()).toEqual([]);
});

test('without an address what was tried says nothing', async () => {
  const a = instance();
  for (let i = 0; i < 8; i++) {
    await failFor(100, a);
    a.unset(lane);
  }
  expect(types()).toEqual([]);
});
