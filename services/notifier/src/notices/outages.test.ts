import { openTestBed, type TestBed } from '@headset-cloud/embedded/testing/bed.ts';
import { systemClock } from '@headset-cloud/kit/clock.ts';
import { noFailpoints } from '@headset-cloud/kit/failpoints.ts';
import { createLogger } from '@headset-cloud/kit/logger.ts';
import { waitFor } from '@headset-cloud/kit/testing/wait.ts';
import type { Notice } from '../domain/notice.ts';
import { createOutageStore } from '../store/notices.ts';
import { Outages } from './outages.ts';

const lane = 'a-1/deviceEvent';
const afterMs = 300;
let bed: TestBed;
let stored: Notice[];
let waiting: number;
const running: Outages[] = [];
beforeEach(() => {
  bed = openTestBed('notifier', { onMongo: true });
  [stored, waiting] = [[], 1];
});
afterEach(async () => {
  await Promise.all(running.splice(0).map((one) => one.stop()));
  await bed.remove();
});

function instance(after = afterMs): Outages {
  const outages = new Outages({
    store: createOutageStore(bed.store, systemClock),
    notices: {
      isRegisteredElsewhere: async () => true,
      isRegisteredFor: async () => true,
      waiting: async () => waiting,
      store: async (notices) => {
        for (const one of notices) if (!stored.some(({ id }) => id === one.id)) stored.push(one);
      },
    },
    ...{ clock: systemClock, logger: createLogger({ service: 'notifier', level: 'silent' }) },
    ...{ failpoints: noFailpoints, afterMs: after },
  });
  running.push(outages);
  outages.start();
  return outages;
}

const types = () => stored.map(({ type }) => type.replace('notify-destination-', ''));
const open = () => bed.store.collection('outages').countDocuments({});
/** As attempts do, again and again. */
async function failFor(ms: number, ...instances: Outages[]): Promise<void> {
  for (const end = performance.now() + ms; performance.now() < end; ) {
    for (const one of instances) one.failed(lane, 'time_out');
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}

test('what one instance sees fail and another one sees succeed is no outage', async () => {
  const longMs = 1000;
  const [a, b] = [instance(longMs), instance(longMs)];
  // Together these failures last longer than an outage needs.
  for (const end = performance.now() + 3 * longMs; performance.now() < end; ) {
    while ((await open()) === 0) await failFor(20, a);
    b.delivered(lane);
    await waitFor('its end', async () => (await open()) === 0);
  }
  expect(types()).toEqual([]);
  // From here on it is one, seen by an instance that has seen nothing before.
  await a.stop();
  const c = instance(longMs);
  const began = performance.now();
  while (types().length === 0) await failFor(50, c);
  expect(performance.now() - began).toBeGreaterThanOrEqual(longMs);
  expect(types()).toEqual(['failing']);
});

test('an outage goes on from one instance to the next: its time counts from the first', async () => {
  const longMs = 2000;
  const a = instance(longMs);
  while ((await open()) === 0) await failFor(50, a);
  await a.stop();
  // As a had stored it soon before its notice.
  const outages = bed.store.collection<{ _id: string; sinceMs: number; forMs: number }>('outages');
  await outages.updateOne({ _id: lane }, { $set: { forMs: 0.95 * longMs } });
  const first = await outages.findOne({ _id: lane });
  const b = instance(longMs);
  const began = performance.now();
  while (types().length === 0) await failFor(50, b);
  expect(performance.now() - began).toBeLessThan(longMs);
  expect(types()).toEqual(['failing']);
  expect(JSON.parse(stored[0]?.body ?? '').sinceTimestamp).toBe(first?.sinceMs);
  // Any instance that sees a success ends it.
  const c = instance();
  c.delivered(lane);
  await waitFor('its end', () => types().length === 2);
  await waitFor('it is forgotten', async () => (await open()) === 0);
  await failFor(longMs / 2, b);
  expect(types()).toEqual(['failing', 'recovered']);
});

test('time without attempts does not count, nor is told what nothing waits for', async () => {
  const a = instance();
  await failFor(afterMs / 2, a);
  await waitFor('it is stored', async () => (await open()) === 1);
  await new Promise((resolve) => setTimeout(resolve, 2 * afterMs));
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
