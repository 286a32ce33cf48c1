/** What else was found by trying to break the promises of ADR 0053: forgetting, late progress, and what a request costs. */
import type { TestBed } from '@headset-cloud/embedded/testing/bed.ts';
import type { StoreCollection } from '@headset-cloud/kit/store/types.ts';
import type { FeedStore } from '../ports.ts';
import { sentAgain } from '../store/deliveries.ts';
import type { DeliveryDocument } from '../store/documents.ts';
import { createFeedStore, type FeedPageDocument } from '../store/feed.ts';
import { createForgetStore } from '../store/forget.ts';
import { feedPagesCollection } from '../store/indexes.ts';
import {
  dayMs,
  feedTools,
  type Given,
  keptMs,
  numbered,
  openFeedBed,
  stoppedBeforeRemoval,
} from '../testing/feed-bed.ts';

const minuteMs = 60_000;
const hourMs = 60 * minuteMs;
const beganAtMs = Date.UTC(2026, 0, 1);

let bed: TestBed;
let deliveries: StoreCollection<DeliveryDocument>;
let nowMs: number;
let spentMs = 0;
beforeEach(async () => {
  nowMs = beganAtMs;
  spentMs = 0;
  ({ bed, deliveries } = await openFeedBed());
});
afterEach(() => bed.remove());

const { feedOn, store, ended, retention, idsOf, read, readAll } = feedTools({
  ...{ bed: () => bed, nowMs: () => nowMs, spentMs: () => spentMs, longestMs: 90 * dayMs },
});

describe('forgetting', () => {
  const deviceId = '350000000000001';
  const id = `device-${deviceId}-16`;
  const onPages = async () =>
    JSON.stringify(
      await bed.store.collection<FeedPageDocument>(feedPagesCollection).find({}).toArray(),
    ).includes(deviceId);

  test('between its look at pages and its removal a reader gives the delivery its place', async () => {
    await store(ended(id), ended('n'));
    // The head is there.
    await bed.store.collection('feeds').insertOne({
      ...{ _id: 'app', last: 0, tag: 'x', start: 1, sinceMs: 0, newestMs: 0 },
    } as never);
    const between = stoppedBeforeRemoval(bed.store, async () => {
      await readAll(feedOn());
    });
    const forget = createForgetStore(between);
    // It has its place since it was found: told to ask again.
    expect(await forget.reported(deviceId, false)).toMatchObject({ removed: 0, left: 0, more: true });
    expect(await forget.reported(deviceId, false)).toMatchObject({ removed: 1, left: 0, more: false });
    await readAll(feedOn());
    expect(await onPages()).toBe(false);
  });

  test('what was sent again is forgotten between a look and its page', async () => {
    await store(ended(id), ended('n'));
    const { cursor } = await readAll(feedOn());
    await deliveries.updateMany({ _id: id }, sentAgain(nowMs));
    await deliveries.updateMany(
      { _id: id },
      { $set: { status: 'delivered', expireAt: new Date(nowMs + keptMs) } },
    );
    const real = createFeedStore(bed.store);
    const slow = feedOn({
      ...real,
      async add(...args) {
        expect(await createForgetStore(bed.store).reported(deviceId, false)).toMatchObject({
          removed: 1,
          left: 0,
        });
        return real.add(...args);
      },
    });
    await readAll(slow, cursor);
    await readAll(feedOn());
    expect(await onPages()).toBe(false);
  });
});

describe('late progress that is open', () => {
  const of = (t: number, sequence: number, more: Partial<DeliveryDocument> = {}): Given => ({
    ...{ _id: `tx-${t}-progress-${sequence}`, orderKey: `tx-${t}`, order: 'ended', sequence },
    ...more,
  });
  test.each([99, 100, 101, 1001])('%i of as many transactions: others go on', async (count) => {
    const all = Array.from({ length: count }, (_, t) => t);
    await store(...all.flatMap((t) => [of(t, 1), of(t, 5)]));
    const { cursor } = await readAll(feedOn(), undefined, 1000);
    nowMs += 1000;
    await store(...all.map((t) => of(t, 3, { replaceable: true })));
    nowMs += 1000;
    await store(of(5000, 2), { _id: 'report' });
    let at = cursor;
    const seen: string[] = [];
    for (let i = 0; i < 5; i++) {
      nowMs += minuteMs;
      const answer = await readAll(feedOn(), at, 1000);
      at = answer.cursor;
      seen.push(...answer.ids);
    }
    // Where so many wait that a look has nothing else, they get places.
    expect(seen).toEqual(expect.arrayContaining(['report', 'tx-5000-progress-2']));
    if (count < 100) expect(seen).toHaveLength(2);
  });

  test('1,001 of one transaction: others go on', async () => {
    await store(of(7, 1), of(7, 5000));
    const { cursor } = await readAll(feedOn());
    await store(...Array.from({ length: 1001 }, (_, i) => of(7, 3 + i, { replaceable: true })));
    nowMs += 1000;
    await store({ _id: 'report' });
    expect((await readAll(feedOn(), cursor)).ids).toContain('report');
  });
});

test('a look reads the pasts of 100 transactions at most, where clocks have stepped', async () => {
  const of = (t: number, sequence: number, createdAtMs: number): Given => ({
    ...{ _id: `tx-${t}-a-${sequence}`, orderKey: `tx-${t}`, order: 'ended', sequence, createdAtMs },
  });
  const some = Array.from({ length: 350 }, (_, t) => t);
  await store(
    ...some.map((t) => of(t, 2, nowMs + t)),
    ...Array.from({ length: 110 }, (_, t) => of(1000 + t, 2, nowMs + 1000 + t)),
    ...some.map((t) => of(t, 1, nowMs + 2000 + t)),
  );
  const real = createFeedStore(bed.store);
  const asked: number[] = [];
  const feed = feedOn({
    ...real,
    ofTransactions(applicationId, keys) {
      asked.push(keys.length);
      return real.ofTransactions(applicationId, keys);
    },
  });
  expect((await readAll(feed, undefined, 1000)).ids).toHaveLength(810);
  expect(Math.max(...asked)).toBeLessThanOrEqual(100);
});

describe('a store that takes 300 ms for each call, and 5 s for a request', () => {
  function slow() {
    const real = createFeedStore(bed.store);
    const free = new Set(['page', 'resent']);
    const two = new Set(['complete']);
    let isLate = false;
    const wrapped = Object.fromEntries(
      Object.entries(real).map(([key, call]) => [
        key,
        async (...args: never[]) => {
          const costs = free.has(key) ? 0 : two.has(key) ? 600 : 300;
          if (isLate || spentMs + costs > 5000) {
            isLate = true;
            throw new Error('deadline');
          }
          spentMs += costs;
          return (call as (...all: never[]) => unknown)(...args);
        },
      ]),
    ) as unknown as FeedStore;
    return async (after: string | undefined, limit: number, types: string[] = []) => {
      [spentMs, isLate] = [0, false];
      return feedOn(wrapped).read({ applicationId: 'app', after, limit, filter: { types, deviceId: '' } });
    };
  }
  /** As `readAll` does, but goes on where the deadline has passed. */
  async function tries(after: string | undefined, limit: number, types: string[] = []) {
    const ask = slow();
    const ids: string[] = [];
    let [cursor, deadlines, inARow] = [after, 0, 0];
    while (inARow < 20) {
      const answer = await ask(cursor, limit, types).catch((error: Error) => {
        if (error.message !== 'deadline') throw error;
      });
      if (!answer) {
        deadlines++;
        inARow++;
        continue;
      }
      inARow = 0;
      ids.push(...idsOf(answer));
      cursor = answer.cursor;
      if (!answer.more) return { ids, deadlines, arrived: true };
    }
    return { ids, deadlines, arrived: false };
  }

  test('who begins where the oldest 1,500 places hold nothing any more gets an answer', async () => {
    await store(...Array.from({ length: 1500 }, (_, i) => ended(numbered('n', i))));
    await readAll(feedOn(), undefined, 1000);
    nowMs += keptMs + hourMs;
    await retention();
    await store({ _id: 'new' });
    const { ids, arrived } = await tries(undefined, 100);
    expect({ ids, arrived }).toEqual({ ids: ['new'], arrived: true });
  });

  test('who reads 1,000 at once where every second place holds nothing any more gets an answer', async () => {
    // Every second one was given up, and is kept for longer.
    const days = (i: number) => (i % 2 ? 90 : 30) * dayMs;
    await store(...Array.from({ length: 2400 }, (_, i) => ended(numbered('n', i), nowMs + i, days(i))));
    await readAll(feedOn(), undefined, 1000);
    nowMs += keptMs + hourMs;
    await retention();
    const { ids, arrived } = await tries(undefined, 1000);
    expect({ had: ids.length, arrived }).toEqual({ had: 1200, arrived: true });
  });

  test('a filter that fits rarely gets an answer while places are given', async () => {
    await store(...Array.from({ length: 2500 }, (_, i) => ended(numbered('n', i), nowMs + i)));
    const { deadlines, arrived } = await tries(undefined, 100, ['notify-volume']);
    expect(arrived).toBe(true);
    expect(deadlines).toBeLessThan(3);
  });
});

test('one request that passes over 10,000 places reads each page a few times at most', async () => {
  await store(...Array.from({ length: 10_000 }, (_, i) => ended(numbered('n', i))));
  await readAll(feedOn(), undefined, 1000);
  nowMs += keptMs + hourMs;
  await retention();
  const real = createFeedStore(bed.store);
  let pages = 0;
  const counting = feedOn({
    ...real,
    async pages(...args) {
      const found = await real.pages(...args);
      pages += found.length;
      return found;
    },
  });
  await read(counting, undefined, 100);
  expect(pages).toBeLessThan(1000);
}, 60_000);

test('open late progress with resends: resends come, once each', async () => {
  const of = (t: number, sequence: number, more: Partial<DeliveryDocument> = {}): Given => ({
    ...{ _id: `tx-${t}-progress-${sequence}`, orderKey: `tx-${t}`, order: 'ended', sequence },
    ...more,
  });
  await store(of(7, 1), of(7, 5), ...Array.from({ length: 250 }, (_, i) => ended(numbered('n', i))));
  const { cursor, ids } = await readAll(feedOn());
  await store(of(7, 3, { replaceable: true }));
  await deliveries.updateMany({ _id: { $gte: 'n', $lt: 'o' } }, sentAgain(nowMs));
  const again = await readAll(feedOn(), cursor, 100, { withResends: true });
  expect(again.ids).toHaveLength(250);
  expect(new Set(again.ids).size).toBe(250);
  await deliveries.updateMany({ _id: 'tx-7-progress-3' }, { $set: { takenOver: true } });
  expect((await readAll(feedOn(), again.cursor)).ids).toEqual(['tx-7-progress-3']);
  expect((await readAll(feedOn())).ids).toEqual([...ids, 'tx-7-progress-3']);
});
