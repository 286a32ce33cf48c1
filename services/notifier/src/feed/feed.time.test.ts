/** What else was found by trying to break the promises of ADR 0053: time. */
import type { TestBed } from '@headset-cloud/embedded/testing/bed.ts';
import type { StoreCollection } from '@headset-cloud/kit/store/types.ts';
import type { FeedStore } from '../ports.ts';
import { sentAgain } from '../store/deliveries.ts';
import type { DeliveryDocument } from '../store/documents.ts';
import { createFeedStore } from '../store/feed.ts';
import { dayMs, feedTools, type Given, keptMs, numbered, openFeedBed, openMs } from '../testing/feed-bed.ts';
import { Feed } from './feed.ts';
import type { FeedAnswer } from './reading.ts';

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
/** Follows the contract: refused, it begins anew and leaves out what it has had. */
async function byTheContract(
  after: string | undefined,
  limit: number,
  mostRefusals: number,
  pause?: () => Promise<void>,
) {
  const feed = feedOn();
  const had = new Set<string>();
  let [cursor, refusals, requests] = [after, 0, 0];
  for (;;) {
    await pause?.();
    requests++;
    let answer: FeedAnswer;
    try {
      answer = await read(feed, cursor, limit);
    } catch (error) {
      expect(error).toMatchObject({ code: 'invalid_argument' });
      cursor = undefined;
      if (++refusals > mostRefusals) return { had, refusals, requests, arrived: false };
      continue;
    }
    for (const id of idsOf(answer)) had.add(id);
    cursor = answer.cursor;
    if (!answer.more) return { had, refusals, requests, arrived: true };
  }
}

describe('who begins', () => {
  test('at the oldest event of a feed that is read each minute gets on, reading 60 times as fast as events came', async () => {
    let { cursor } = await readAll(feedOn());
    for (let i = 0; i < 240; i++) {
      await store(ended(numbered('n', i)));
      ({ cursor } = await readAll(feedOn(), cursor));
      nowMs += minuteMs;
    }
    nowMs = beganAtMs + keptMs + 30 * minuteMs;
    // 10 events, so 10 minutes of the feed, each 10 seconds.
    const { refusals, arrived, had } = await byTheContract(undefined, 10, 30, async () => {
      nowMs += 10_000;
      await retention();
    });
    expect({ refusals, arrived, had: had.size }).toEqual({ refusals: 0, arrived: true, had: 209 });
  });

  test('first, with 5,000 callbacks that were given up up to 85 days ago, is not refused', async () => {
    // Kept 90 days; one each 25 minutes.
    const at = (i: number) => nowMs - 85 * dayMs + i * 10 * minuteMs;
    await store(...Array.from({ length: 5000 }, (_, i) => ended(numbered('dead', i), at(i), 90 * dayMs)));
    const { refusals, had } = await byTheContract(undefined, 1000, 30);
    expect({ refusals, had: had.size }).toEqual({ refusals: 0, had: 5000 });
  });

  test('first, with 30 full days of delivered callbacks, is not refused', async () => {
    // One each two seconds in the oldest two hours.
    const at = (i: number) => nowMs - keptMs + minuteMs + i * 2000;
    await store(...Array.from({ length: 3500 }, (_, i) => ended(numbered('n', i), at(i))));
    const { refusals, had } = await byTheContract(undefined, 1000, 30);
    expect({ refusals, had: had.size }).toEqual({ refusals: 0, had: 3500 });
  });

  test('finds what is kept though it was given up after it got its place', async () => {
    await store(...Array.from({ length: 3 }, (_, i) => ({ _id: numbered('dead', i) })));
    await readAll(feedOn());
    nowMs += openMs;
    const dead = { status: 'dead', expireAt: new Date(nowMs + 90 * dayMs) } as const;
    await deliveries.updateMany({}, { $set: dead });
    nowMs += 32 * dayMs;
    await retention();
    await store({ _id: 'new' });
    expect(await deliveries.countDocuments({})).toBe(4);
    expect((await readAll(feedOn())).ids).toEqual([...[0, 1, 2].map((i) => numbered('dead', i)), 'new']);
  });

  test('wanting one event passes over places whose deliveries are gone at a bounded cost', async () => {
    await store(...Array.from({ length: 2000 }, (_, i) => ended(numbered('n', i))));
    await readAll(feedOn(), undefined, 1000);
    nowMs += keptMs + hourMs;
    // Pages stay for three more days.
    await retention();
    await store({ _id: 'new' });
    const real = createFeedStore(bed.store);
    let [calls, pages] = [0, 0];
    const counting = feedOn({
      ...real,
      async pages(...args) {
        calls++;
        const found = await real.pages(...args);
        pages += found.length;
        return found;
      },
      async deliveries(ids) {
        calls++;
        return real.deliveries(ids);
      },
    });
    const answer = await read(counting, undefined, 1);
    expect(idsOf(answer)).toEqual(['new']);
    expect(calls).toBeLessThan(100);
    expect(pages).toBeLessThan(200);
  }, 120_000);
});

describe('a steady reader', () => {
  test('is not refused when what an operator replays, created 40 days ago, is more than a look takes', async () => {
    await store({ _id: 'first' });
    let { cursor } = await readAll(feedOn());
    for (let i = 0; i < 40; i++) {
      nowMs += dayMs - 3 * hourMs;
      ({ cursor } = await readAll(feedOn(), cursor));
    }
    const replayed = Array.from({ length: 1200 }, (_, i) => ({
      _id: numbered('replayed', i),
      createdAtMs: nowMs - 31 * dayMs + i,
    }));
    await store(...replayed);
    const { refusals, had } = await byTheContract(cursor, 1000, 5);
    expect({ refusals, had: had.size }).toMatchObject({ refusals: 0 });
  });

  test('is not refused while a late progress is open for as long as deliveries are kept', async () => {
    const of = (sequence: number, more: Partial<DeliveryDocument> = {}): Given => ({
      ...{ _id: `tx-7-progress-${sequence}`, orderKey: 'tx-7', order: 'ended', sequence },
      ...more,
    });
    await store(of(1), of(5));
    let { cursor } = await readAll(feedOn());
    await store(of(3, { replaceable: true }));
    for (let i = 0; i < 31; i++) {
      nowMs += dayMs;
      ({ cursor } = await readAll(feedOn(), cursor));
    }
  });
});

test('where deliveries are kept for one day (the least): by the contract a steady reader gets on', async () => {
  const feed = new Feed({
    store: createFeedStore(bed.store),
    clock: { now: () => nowMs, monotonicNow: () => spentMs },
    ...{ keptMs: dayMs, longestMs: dayMs, openMs: 4 * dayMs },
  });
  const of = (sequence: number, more: Partial<DeliveryDocument> = {}): Given => ({
    ...{ _id: `tx-7-progress-${sequence}`, orderKey: 'tx-7', order: 'ended', sequence },
    ...more,
  });
  await store(of(1), of(5));
  let cursor: string | undefined = (await readAll(feed)).cursor;
  await store(of(3, { replaceable: true }));
  for (let i = 0; i < 21; i++) {
    nowMs += hourMs;
    ({ cursor } = await readAll(feed, cursor));
  }
  nowMs += 2 * hourMs;
  let refusals = 0;
  for (let i = 0; i < 100; i++) {
    nowMs += minuteMs;
    try {
      ({ cursor } = await readAll(feed, cursor));
    } catch {
      refusals++;
      cursor = undefined;
    }
  }
  expect(refusals).toBe(0);
});

test('nobody read for 31 days, and a page of given up ones is left: who begins in small steps is not refused', async () => {
  await store(...Array.from({ length: 20 }, (_, i) => ended(numbered('dead', i), nowMs, 90 * dayMs)));
  await readAll(feedOn());
  nowMs += 31 * dayMs;
  await retention();
  await store({ _id: 'new' });
  const { refusals, had } = await byTheContract(undefined, 10, 5);
  expect({ refusals, had: had.size }).toEqual({ refusals: 0, had: 21 });
});

test('a reader that takes more than a day to the end, past a page that is missing, gets on', async () => {
  // Page 1 holds one that was given up; page 2 delivered ones; page 3 those of now.
  await store(ended('dead', nowMs, 90 * dayMs));
  let { cursor } = await readAll(feedOn());
  await store(...Array.from({ length: 5 }, (_, i) => ended(numbered('gone', i))));
  ({ cursor } = await readAll(feedOn(), cursor));
  for (let i = 0; i < 40; i++) {
    nowMs += dayMs;
    ({ cursor } = await readAll(feedOn(), cursor));
  }
  await retention();
  await store(...Array.from({ length: 5 }, (_, i) => ended(numbered('new', i))));
  await readAll(feedOn(), cursor);
  // One event for each run of a job, which runs once in 25 hours.
  const { refusals, had } = await byTheContract(undefined, 1, 5, async () => {
    nowMs += 25 * hourMs;
  });
  expect({ refusals, had: had.size }).toEqual({ refusals: 0, had: 6 });
});

test('from, with missing pages and equal times, against the plain search', async () => {
  let state = 7;
  const below = (n: number) => {
    state = (Math.imul(state, 1103515245) + 12345) & 0x7fffffff;
    return Math.floor((state / 0x7fffffff) * n);
  };
  for (let round = 0; round < 300; round++) {
    const last = below(12);
    let newestMs = 0;
    const all = Array.from({ length: last }, (_, i) => {
      newestMs += below(3);
      return {
        ...{ number: i + 1, tag: `t${i + 1}`, before: `t${i}`, ids: [`e${i + 1}`], resends: [], newestMs },
        ...{ sinceBeforeMs: 0, sinceMs: 0, madeAtMs: nowMs, removedAtMs: nowMs + keptMs },
      };
    });
    const there = all.filter(() => below(3) > 0);
    const head = { last, tag: `t${last}`, start: 1, sinceMs: 0, newestMs };
    const fake = {
      head: async () => head,
      pages: async (_: string, from: number, to: number, limit: number) =>
        there.filter(({ number }) => number >= from && number <= to).slice(0, limit),
      page: async () => undefined,
      unplaced: async () => [],
      resent: async () => [],
      ofTransactions: async () => ({ unplaced: [], placedUpTo: new Map() }),
      startFrom: async () => {},
      wholeAt: async () => {},
      deliveries: async (ids: string[]) =>
        new Map(ids.map((one) => [one, { id: one, body: Buffer.from('{}'), destination: 'deviceEvent' }])),
    } as unknown as FeedStore;
    const fromMs = 1 + below(20);
    const { ids } = await readAll(feedOn(fake), undefined, 1 + below(5), { fromMs } as never);
    expect(ids).toEqual(there.filter((one) => one.newestMs >= fromMs).map((one) => one.ids[0]));
  }
});

test('a steady reader of two years is not refused', async () => {
  const feed = feedOn();
  let { cursor } = await readAll(feed);
  for (let day = 0; day < 730; day++) {
    nowMs += dayMs;
    if (day % 7 === 0)
      await store(ended(numbered('n', day)), ended(numbered('dead', day), nowMs, 90 * dayMs));
    if (day % 30 === 0) await retention();
    ({ cursor } = await readAll(feed, cursor));
  }
  expect((await readAll(feed, cursor)).ids).toEqual([]);
}, 60_000);

test('forged cursors get a 400 or an answer', async () => {
  await store(...Array.from({ length: 250 }, (_, i) => ended(numbered('n', i), nowMs + i)));
  const { cursor } = await read(feedOn(), undefined, 120);
  const parts = Buffer.from(cursor, 'base64url').toString().split('.');
  const values = ['0', '1', '2', '3', '4', '999999', '999999999999999'];
  for (const at of [1, 2, 4, 5]) {
    for (const value of values) {
      const forged = parts.with(at, value).join('.');
      const got = await read(feedOn(), Buffer.from(forged).toString('base64url')).catch((error) => error);
      expect([forged, got.code ?? 'answer']).toEqual([
        forged,
        expect.stringMatching(/answer|invalid_argument/),
      ]);
    }
  }
});

test('what was there when a reader began, and has its time before the reader comes to it, is passed over', async () => {
  const at = (i: number) => nowMs - 29 * dayMs + i;
  await store(...Array.from({ length: 50 }, (_, i) => ended(numbered('n', i), at(i))), ended('new'));
  const { cursor } = await read(feedOn(), undefined, 2);
  nowMs += 25 * hourMs;
  await retention();
  expect((await readAll(feedOn(), cursor)).ids).toEqual(['new']);
});

test('refused at an instance an hour ahead, begun anew at the other: no second refusal', async () => {
  await store(...Array.from({ length: 20 }, (_, i) => ended(numbered('n', i))));
  const { cursor } = await read(feedOn(), undefined, 10);
  nowMs += keptMs - 2 * hourMs - 30 * minuteMs;
  await readAll(feedOn());
  let [at, refusals]: [string | undefined, number] = [cursor, 0];
  // Requests go to the two instances in turn, a second apart; the answers of each are read on with the next.
  for (let i = 0; i < 20; i++) {
    nowMs += 1000 + (i % 2 ? -hourMs : hourMs);
    try {
      ({ cursor: at } = await read(feedOn(), at, 10));
    } catch {
      refusals++;
      at = undefined;
    }
  }
  expect(refusals).toBeLessThanOrEqual(1);
});

test('a beginner on a busy feed gets to its end: 10 events a second, read 1,000 at once, 5 times a second', async () => {
  // A model of the deliveries and pages: only the times of pages matter.
  const perPage = 100;
  const pageMs = 10_000;
  let reached = 0;
  const pageOf = (number: number) => ({
    ...{ number, tag: `t${number}`, before: `t${number - 1}`, resends: [], newestMs: 0 },
    ids: Array.from({ length: perPage }, (_, i) => `${number}-${i}`),
    ...{
      sinceBeforeMs: 0,
      sinceMs: 0,
      madeAtMs: beganAtMs + number * pageMs,
      removedAtMs: Number.MAX_SAFE_INTEGER,
    },
  });
  const last = (40 * dayMs) / pageMs;
  const oldest = () => Math.ceil((nowMs - keptMs - beganAtMs) / pageMs);
  const fake = {
    head: async () => ({ last, tag: `t${last}`, start: 1, sinceMs: 0, newestMs: 0 }),
    pages: async (_: string, from: number, to: number, limit: number) => {
      // As if those that are empty were removed at once, which is faster for the reader.
      const first = Math.max(from, oldest());
      return Array.from({ length: Math.min(limit, to - first + 1) }, (_, i) => pageOf(first + i));
    },
    startFrom: async () => {},
    deliveries: async (ids: string[]) => {
      reached = Math.max(reached, ...ids.map((id) => Number(id.split('-')[0])));
      return new Map(ids.map((id) => [id, { id, body: Buffer.from('{}'), destination: 'deviceEvent' }]));
    },
  } as unknown as FeedStore;
  nowMs = beganAtMs + keptMs + dayMs;
  const feed = feedOn(fake);
  let [cursor, refusals]: [string | undefined, number] = [undefined, 0];
  for (let i = 0; i < 5 * 60 * 5; i++) {
    nowMs += 200;
    try {
      ({ cursor } = await read(feed, cursor, 1000));
    } catch {
      refusals++;
      cursor = undefined;
    }
  }
  expect(refusals).toBe(0);
}, 60_000);

test('a steady reader of two years gets a page made now that holds one event with an hour left', async () => {
  const { cursor } = await readAll(feedOn());
  for (let day = 0; day < 60; day++) {
    nowMs += 12 * dayMs;
    await readAll(feedOn(), cursor);
  }
  const steady = await readAll(feedOn(), cursor);
  // A notice that was decided long ago and is stored now ends by when it was decided (store/notices.ts).
  await store(ended('old', nowMs - keptMs + hourMs), { _id: 'new' });
  expect((await readAll(feedOn(), steady.cursor)).ids).toEqual(['old', 'new']);
});

test('a reader in the middle of a page is not refused for an event of it that it has had', async () => {
  await store(ended('old', nowMs - keptMs + 3 * hourMs), ...[1, 2, 3].map((i) => ended(numbered('n', i))));
  const { cursor, events } = await read(feedOn(), undefined, 2);
  expect(events).toHaveLength(2);
  nowMs += dayMs;
  await retention();
  expect((await readAll(feedOn(), cursor)).ids).toEqual([numbered('n', 2), numbered('n', 3)]);
});

test('what was delivered, and is sent again late in its time, is found by who begins while it is kept', async () => {
  await store(ended('again'));
  await readAll(feedOn());
  nowMs += 29 * dayMs;
  await deliveries.updateMany({}, sentAgain(nowMs));
  await deliveries.updateMany({}, { $set: { status: 'delivered', expireAt: new Date(nowMs + keptMs) } });
  nowMs += 10 * dayMs;
  await retention();
  expect(await deliveries.countDocuments({})).toBe(1);
  expect((await readAll(feedOn())).ids).toEqual(['again']);
});
