/** What else was found by trying to break the promises of ADR 0053: time, forgetting, late progress, cost. */
import type { TestBed } from '@headset-cloud/embedded/testing/bed.ts';
import type { Store, StoreCollection } from '@headset-cloud/kit/store/types.ts';
import type { FeedStore } from '../ports.ts';
import { sentAgain } from '../store/deliveries.ts';
import type { DeliveryDocument } from '../store/documents.ts';
import { createFeedStore, type FeedPageDocument } from '../store/feed.ts';
import { createForgetStore } from '../store/forget.ts';
import { deliveriesCollection, feedPagesCollection } from '../store/indexes.ts';
import { dayMs, eventDocument, type Given, keptMs, openFeedBed, openMs } from '../testing/feed-bed.ts';
import { Feed, type FeedAnswer } from './feed.ts';

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

const feedOn = (store: FeedStore = createFeedStore(bed.store)) =>
  new Feed({
    store,
    clock: { now: () => nowMs, monotonicNow: () => spentMs },
    keptMs,
    longestMs: 90 * 86_400_000,
    openMs,
  });
const store = (...given: Given[]) => deliveries.insertMany(given.map((one) => eventDocument(one, nowMs)));
/** One that was delivered the moment it was created. */
const ended = (_id: string, atMs = nowMs, forMs = keptMs): Given => ({
  ...{ _id, status: 'delivered', createdAtMs: atMs, expireAt: new Date(atMs + forMs) },
});
const name = (text: string, i: number) => `${text}-${String(i).padStart(5, '0')}`;
/** What MongoDB does each minute. */
async function retention() {
  const gone = { expireAt: { $lte: new Date(nowMs) } };
  await deliveries.deleteMany(gone);
  await bed.store.collection<FeedPageDocument>(feedPagesCollection).deleteMany(gone);
}
const idsOf = ({ events }: FeedAnswer) => events.map(({ delivery }) => delivery.id);
const read = (
  feed: Feed,
  after?: string,
  limit = 100,
  more: { fromMs?: number; withResends?: boolean } = {},
) => feed.read({ applicationId: 'app', after, limit, filter: { types: [], deviceId: '' }, ...more });
async function readAll(feed: Feed, after?: string, limit = 100, more: { withResends?: boolean } = {}) {
  const ids: string[] = [];
  for (let cursor = after; ; ) {
    const answer = await read(feed, cursor, limit, more);
    ids.push(...idsOf(answer));
    cursor = answer.cursor;
    if (!answer.more) return { ids, cursor };
  }
}
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
      await store(ended(name('n', i)));
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
    await store(...Array.from({ length: 5000 }, (_, i) => ended(name('dead', i), at(i), 90 * dayMs)));
    const { refusals, had } = await byTheContract(undefined, 1000, 30);
    expect({ refusals, had: had.size }).toEqual({ refusals: 0, had: 5000 });
  });

  test('first, with 30 full days of delivered callbacks, is not refused', async () => {
    // One each two seconds in the oldest two hours.
    const at = (i: number) => nowMs - keptMs + minuteMs + i * 2000;
    await store(...Array.from({ length: 3500 }, (_, i) => ended(name('n', i), at(i))));
    const { refusals, had } = await byTheContract(undefined, 1000, 30);
    expect({ refusals, had: had.size }).toEqual({ refusals: 0, had: 3500 });
  });

  test('finds what is kept though it was given up after it got its place', async () => {
    await store(...Array.from({ length: 3 }, (_, i) => ({ _id: name('dead', i) })));
    await readAll(feedOn());
    nowMs += openMs;
    const dead = { status: 'dead', expireAt: new Date(nowMs + 90 * dayMs) } as const;
    await deliveries.updateMany({}, { $set: dead });
    nowMs += 32 * dayMs;
    await retention();
    await store({ _id: 'new' });
    expect(await deliveries.countDocuments({})).toBe(4);
    expect((await readAll(feedOn())).ids).toEqual([...[0, 1, 2].map((i) => name('dead', i)), 'new']);
  });

  test('wanting one event passes over places whose deliveries are gone at a bounded cost', async () => {
    await store(...Array.from({ length: 2000 }, (_, i) => ended(name('n', i))));
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
      _id: name('replayed', i),
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
      ...{ _id: 'app', last: 0, tag: 'x', start: 1, allUntilMs: nowMs + dayMs, newestMs: 0 },
    } as never);
    const between: Store = {
      ...bed.store,
      collection: ((of: string, ...rest: never[]) => {
        const real = bed.store.collection(of, ...rest);
        if (of !== deliveriesCollection) return real;
        return new Proxy(real, {
          get(target, key) {
            const value = Reflect.get(target, key);
            if (key !== 'deleteMany') return typeof value === 'function' ? value.bind(target) : value;
            return async (...args: [never]) => {
              await readAll(feedOn());
              return target.deleteMany(...args);
            };
          },
        });
      }) as never,
    };
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
    await store(...Array.from({ length: 1500 }, (_, i) => ended(name('n', i))));
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
    await store(...Array.from({ length: 2400 }, (_, i) => ended(name('n', i), nowMs + i, days(i))));
    await readAll(feedOn(), undefined, 1000);
    nowMs += keptMs + hourMs;
    await retention();
    const { ids, arrived } = await tries(undefined, 1000);
    expect({ had: ids.length, arrived }).toEqual({ had: 1200, arrived: true });
  });

  test('a filter that fits rarely gets an answer while places are given', async () => {
    await store(...Array.from({ length: 2500 }, (_, i) => ended(name('n', i), nowMs + i)));
    const { deadlines, arrived } = await tries(undefined, 100, ['notify-volume']);
    expect(arrived).toBe(true);
    expect(deadlines).toBeLessThan(3);
  });
});

test('nobody read for 31 days, and a page of given up ones is left: who begins in small steps is not refused', async () => {
  await store(...Array.from({ length: 20 }, (_, i) => ended(name('dead', i), nowMs, 90 * dayMs)));
  await readAll(feedOn());
  nowMs += 31 * dayMs;
  await retention();
  await store({ _id: 'new' });
  const { refusals, had } = await byTheContract(undefined, 10, 5);
  expect({ refusals, had: had.size }).toEqual({ refusals: 0, had: 21 });
});

test('begun at an instance two hours ahead, what was removed more than four hours after that is told', async () => {
  await store(...Array.from({ length: 20 }, (_, i) => ended(name('n', i))));
  await readAll(feedOn());
  const endsAtMs = nowMs + keptMs;
  nowMs = endsAtMs - 6.5 * hourMs;
  nowMs += 2 * hourMs;
  const { cursor, events } = await read(feedOn(), undefined, 10);
  expect(events).toHaveLength(10);
  nowMs -= 2 * hourMs;
  // Others read, so nothing that has no place is lost.
  await readAll(feedOn());
  nowMs = endsAtMs + minuteMs;
  await retention();
  await expect(readAll(feedOn(), cursor)).rejects.toMatchObject({ code: 'invalid_argument' });
});

test('a reader that takes more than a day to the end, past a page that is missing, gets on', async () => {
  // Page 1 holds one that was given up; page 2 delivered ones; page 3 those of now.
  await store(ended('dead', nowMs, 90 * dayMs));
  let { cursor } = await readAll(feedOn());
  await store(...Array.from({ length: 5 }, (_, i) => ended(name('gone', i))));
  ({ cursor } = await readAll(feedOn(), cursor));
  for (let i = 0; i < 40; i++) {
    nowMs += dayMs;
    ({ cursor } = await readAll(feedOn(), cursor));
  }
  await retention();
  await store(...Array.from({ length: 5 }, (_, i) => ended(name('new', i))));
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
        ...{ ends: [nowMs + keptMs], allUntilMs: nowMs + keptMs },
      };
    });
    const there = all.filter(() => below(3) > 0);
    const head = { last, tag: `t${last}`, start: 1, allUntilMs: nowMs + keptMs, newestMs };
    const fake = {
      head: async () => head,
      pages: async (_: string, from: number, to: number, limit: number) =>
        there.filter(({ number }) => number >= from && number <= to).slice(0, limit),
      page: async () => undefined,
      unplaced: async () => [],
      resent: async () => [],
      ofTransactions: async () => ({ unplaced: [], placedUpTo: new Map() }),
      startFrom: async () => {},
      stillAll: async () => {},
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
    if (day % 7 === 0) await store(ended(name('n', day)), ended(name('dead', day), nowMs, 90 * dayMs));
    if (day % 30 === 0) await retention();
    ({ cursor } = await readAll(feed, cursor));
  }
  expect((await readAll(feed, cursor)).ids).toEqual([]);
}, 60_000);

test('forged cursors get a 400 or an answer', async () => {
  await store(...Array.from({ length: 250 }, (_, i) => ended(name('n', i), nowMs + i)));
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

describe('a page of which some had their time before a reader began', () => {
  test('what is removed after that from the same page is told', async () => {
    await store(ended('old', nowMs - keptMs + hourMs));
    await store(...Array.from({ length: 50 }, (_, i) => ended(name('n', i), nowMs - 29 * dayMs + i)));
    await readAll(feedOn());
    nowMs += 2 * hourMs;
    await retention();
    const { events, cursor } = await read(feedOn(), undefined, 2);
    expect(events).toHaveLength(2);
    // Others read each hour.
    for (let i = 0; i < 23; i++) {
      nowMs += hourMs;
      await readAll(feedOn());
    }
    await retention();
    // 25 hours after they had their places, and 23 after this reader began: 48 events are gone, and nobody says so.
    const answer = await readAll(feedOn(), cursor).catch((error: { code?: string }) => error.code);
    expect(answer).toBe('invalid_argument');
  });

  test('the same with a cursor before the page, and with one that was given up', async () => {
    await store(...Array.from({ length: 5 }, (_, i) => ended(name('first', i), nowMs, 90 * dayMs)));
    const begin = await readAll(feedOn());
    // Page 2: one that was delivered, and 50 that were given up later.
    await store(
      ended('delivered'),
      ...Array.from({ length: 50 }, (_, i) => ended(name('dead', i), nowMs, 80 * dayMs)),
    );
    await readAll(feedOn(), begin.cursor);
    const steady = async (days: number) => {
      for (let i = 0; i < days; i++) {
        nowMs += dayMs;
        await retention();
        await readAll(feedOn());
      }
    };
    await steady(31);
    const { cursor } = await read(feedOn(), undefined, 5);
    // The last of the page's events go on day 80, the page on day 81.
    await steady(49);
    const answer = await readAll(feedOn(), cursor).catch((error: { code?: string }) => error.code);
    expect(answer).toBe('invalid_argument');
  });
});

test('refused at an instance an hour ahead, begun anew at the other: no second refusal', async () => {
  await store(...Array.from({ length: 20 }, (_, i) => ended(name('n', i))));
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

test('one request that passes over 10,000 places reads each page a few times at most', async () => {
  await store(...Array.from({ length: 10_000 }, (_, i) => ended(name('n', i))));
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
  await store(of(7, 1), of(7, 5), ...Array.from({ length: 250 }, (_, i) => ended(name('n', i))));
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

test('a beginner on a busy feed gets to its end: 10 events a second, read 1,000 at once, 5 times a second', async () => {
  // A model of the deliveries and pages: only the times of pages matter.
  const perPage = 100;
  const pageMs = 10_000;
  let reached = 0;
  const pageOf = (number: number) => ({
    ...{ number, tag: `t${number}`, before: `t${number - 1}`, resends: [], newestMs: 0 },
    ids: Array.from({ length: perPage }, (_, i) => `${number}-${i}`),
    ends: Array.from({ length: perPage }, () => beganAtMs + number * pageMs + keptMs - 2 * hourMs),
    allUntilMs: Number.MAX_SAFE_INTEGER,
  });
  const last = (40 * dayMs) / pageMs;
  const oldest = () => Math.ceil((nowMs - keptMs - beganAtMs) / pageMs);
  const fake = {
    head: async () => ({ last, tag: `t${last}`, start: 1, allUntilMs: Number.MAX_SAFE_INTEGER, newestMs: 0 }),
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
  // Today it never comes further than 2 hours behind the oldest: refused each 15 seconds.
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
  await store(ended('old', nowMs - keptMs + 3 * hourMs), ...[1, 2, 3].map((i) => ended(name('n', i))));
  const { cursor, events } = await read(feedOn(), undefined, 2);
  expect(events).toHaveLength(2);
  nowMs += dayMs;
  await retention();
  expect((await readAll(feedOn(), cursor)).ids).toEqual([name('n', 2), name('n', 3)]);
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
