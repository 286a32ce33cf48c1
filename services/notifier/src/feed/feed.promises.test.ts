/** What was found by trying to break the promises of ADR 0053. */
import type { TestBed } from '@headset-cloud/embedded/testing/bed.ts';
import { late } from '@headset-cloud/kit/deadline.ts';
import type { StoreCollection } from '@headset-cloud/kit/store/types.ts';
import type { FeedStore } from '../ports.ts';
import { MongoDeliveryStore, sentAgain } from '../store/deliveries.ts';
import type { DeliveryDocument } from '../store/documents.ts';
import { createFeedStore, type FeedPageDocument } from '../store/feed.ts';
import { createForgetStore } from '../store/forget.ts';
import { feedPagesCollection } from '../store/indexes.ts';
import { dayMs, feedTools, type Given, keptMs, openFeedBed } from '../testing/feed-bed.ts';
import type { Feed } from './feed.ts';

const minuteMs = 60_000;
const hourMs = 60 * minuteMs;
const beganAtMs = Date.UTC(2026, 0, 1);

let bed: TestBed;
let deliveries: StoreCollection<DeliveryDocument>;
let nowMs: number;
/** By the monotonic clock. */
let spentMs = 0;
beforeEach(async () => {
  nowMs = beganAtMs;
  ({ bed, deliveries } = await openFeedBed());
});
afterEach(() => bed.remove());

const { feedOn, store, ended, retention, idsOf, read, readAll } = feedTools({
  ...{ bed: () => bed, nowMs: () => nowMs, spentMs: () => spentMs, longestMs: keptMs },
});
/** As an integrator does who follows the contract: refused, it begins anew and leaves out what it has had. */
async function follow(feed: Feed, after?: string, more: { fromMs?: number } = {}) {
  try {
    return (await readAll(feed, after, 100, more)).ids;
  } catch (error) {
    expect(error).toMatchObject({ code: 'invalid_argument' });
    return (await readAll(feed, undefined, 100, more)).ids;
  }
}

describe('a page whose events end at different times', () => {
  test('recent events that share a page with one that has its time soon are read by who begins later', async () => {
    await store(ended('month-old'));
    // Nobody reads for nearly 30 days: an application of few events.
    nowMs += keptMs - minuteMs;
    await store(...Array.from({ length: 50 }, (_, i) => ended(`recent-${i}`)));
    expect((await readAll(feedOn())).ids).toHaveLength(51);
    nowMs += 2 * minuteMs;
    await retention();
    // 2 minutes old, in the store for 30 days: another reader (or the same after a restart) gets none of them.
    expect(await deliveries.countDocuments({})).toBe(50);
    expect(await follow(feedOn())).toHaveLength(50);
  });

  test('the first reader of an application, that reads in two steps, is refused and misses kept events', async () => {
    await store(ended('month-old', nowMs - keptMs + minuteMs), ...[1, 2, 3].map((i) => ended(`recent-${i}`)));
    const feed = feedOn();
    const first = await read(feed, undefined, 2);
    expect(idsOf(first)).toEqual(['month-old', 'recent-1']);
    nowMs += 2 * minuteMs;
    await retention();
    expect(await follow(feed, first.cursor)).toEqual(expect.arrayContaining(['recent-2', 'recent-3']));
  });

  /** Page 1: given up (kept 90 days by default). Page 2: delivered (30 days), read for the first time 29 days later. */
  async function deadThenDelivered() {
    await store({ _id: 'first' });
    const { cursor } = await readAll(feedOn());
    const of = (name: string, forMs: number, atMs: number) =>
      Array.from({ length: 100 }, (_, i) => ended(`${name}-${String(i).padStart(2, '0')}`, atMs + i, forMs));
    await store(...of('dead', 90 * dayMs, nowMs + 1000), ...of('ok', keptMs, nowMs + hourMs));
    nowMs += 29 * dayMs;
    await store(...of('new', keptMs, nowMs));
    expect((await readAll(feedOn(), cursor)).ids).toHaveLength(300);
    nowMs += dayMs + 2 * hourMs;
    await retention();
    expect(await deliveries.countDocuments({ _id: { $gte: 'dead', $lt: 'deae' } })).toBe(100);
    return cursor;
  }

  test('a cursor before a kept page with one behind it that had its time: what is kept is not skipped', async () => {
    const cursor = await deadThenDelivered();
    const ids = await follow(feedOn(), cursor);
    expect(ids.filter((id) => id.startsWith('new'))).toHaveLength(100);
    // Promised: "begins with the oldest event that is kept".
    expect(ids.filter((id) => id.startsWith('dead'))).toHaveLength(100);
  });

  test('who begins with a time gets what is kept from then on, also before a page that had its time', async () => {
    await deadThenDelivered();
    const ids = await follow(feedOn(), undefined, { fromMs: beganAtMs + 500 });
    expect(ids.filter((id) => id.startsWith('dead'))).toHaveLength(100);
  });
});

describe('a progress behind what followed it', () => {
  const of = (name: string, sequence: number, more: Partial<DeliveryDocument> = {}): Given => ({
    ...{ _id: `tx-7-${name}`, orderKey: 'tx-7', order: 'ended', sequence },
    ...(sequence > 2 && { behindProgress: true as const }),
    ...more,
  });
  const lateProgress = (more: Partial<DeliveryDocument> = {}) =>
    of('progress-3', 3, { replaceable: true, ...more });
  async function placedUpTo5() {
    await store(of('accepted', 1), of('processed', 5));
    return (await readAll(feedOn())).cursor;
  }
  const leaseMs = 30_000;
  const instance = (name: string) =>
    new MongoDeliveryStore(bed.store, name, { deliveredMs: keptMs, deadMs: keptMs }, { now: () => nowMs });
  /** Another instance takes over what the dead one owned, and its callback arrives. */
  async function takenOverAndDelivered() {
    nowMs += 2 * leaseMs;
    const other = instance('other');
    const { claimed } = await other.claim('app/deviceEvent', 100, nowMs, nowMs + leaseMs);
    const mine = claimed.find(({ id }) => id === 'tx-7-progress-3');
    expect(mine).toMatchObject({ takenOver: true });
    // The later one waits (its destination is away): nothing forbids to send this one (readiness.ts).
    expect(await other.isOvertaken(mine as NonNullable<typeof mine>)).toBe(false);
    const change = { status: 'delivered', deliveredAtMs: nowMs, dueAtMs: nowMs, owner: null } as const;
    await other.apply([{ id: 'tx-7-progress-3', change, onlyIfOwner: 'other' } as never]);
    expect(await deliveries.findOne({ _id: 'tx-7-progress-3' })).toMatchObject({ status: 'delivered' });
  }

  test('one that was left out while its instance had it, and is then taken over and arrives, is in the feed', async () => {
    const cursor = await placedUpTo5();
    await store(lateProgress({ owner: 'dead', dueAtMs: nowMs + leaseMs }));
    const at = await readAll(feedOn(), cursor);
    await takenOverAndDelivered();
    expect([...at.ids, ...(await readAll(feedOn(), at.cursor)).ids]).toEqual(['tx-7-progress-3']);
  });

  test('one that has arrived late and is sent again before anybody reads is in the feed', async () => {
    const cursor = await placedUpTo5();
    await store(lateProgress({ status: 'delivered', deliveredAtMs: nowMs }));
    await deliveries.updateMany({ _id: 'tx-7-progress-3' }, sentAgain(nowMs));
    expect((await readAll(feedOn(), cursor)).ids).toEqual(['tx-7-progress-3']);
  });

  test('what a look reads of transactions with a long past is bounded, and all get on', async () => {
    const [past, transactions] = [3, 250];
    const progress = (t: number, i: number) => ({
      ...{ _id: `tx-${t}-progress-${i}`, orderKey: `tx-${t}`, order: 'ended' as const, sequence: i + 1 },
      replaceable: true,
    });
    const all = Array.from({ length: transactions }, (_, t) => t);
    await store(...all.flatMap((t) => Array.from({ length: past }, (_, i) => progress(t, i))));
    const { cursor } = await readAll(feedOn(), undefined, 1000);
    await store(...all.map((t) => progress(t, past)));
    const real = createFeedStore(bed.store);
    const asked: number[] = [];
    const feed = feedOn({
      ...real,
      ofTransactions(applicationId, keys) {
        asked.push(keys.length);
        return real.ofTransactions(applicationId, keys);
      },
    });
    const { ids } = await readAll(feed, cursor, 1000);
    expect(ids.toSorted()).toEqual(all.map((t) => `tx-${t}-progress-${past}`).toSorted());
    expect(Math.max(...asked)).toBeLessThanOrEqual(100);
  });
});

describe('readers that die or freeze, and retention', () => {
  test('a page whose marks were set, but not the head, and that has its time before the next reader', async () => {
    const resentAtMs = nowMs + 2000;
    await store(ended('z'));
    const { cursor } = await readAll(feedOn());
    await deliveries.updateMany({ _id: 'z' }, sentAgain(resentAtMs));
    const again = { status: 'delivered', expireAt: new Date(resentAtMs + keptMs) } as const;
    await deliveries.updateMany({ _id: 'z' }, { $set: again });
    nowMs += keptMs - 8 * hourMs;
    const recent = Array.from({ length: 102 }, (_, i) => `recent-${String(i).padStart(3, '0')}`);
    await store(...recent.map((id, i) => ended(id, nowMs + i)));
    const real = createFeedStore(bed.store);
    const dying = feedOn({
      ...real,
      async complete(applicationId, page) {
        const heads = bed.store.collection<{ _id: string; last: number }>('feeds');
        const head = await heads.findOne({ _id: 'app' });
        await real.complete(applicationId, page);
        if (page.number < 3) return;
        // The last of its writes is not done.
        await heads.updateMany({ _id: 'app' }, { $set: head as { last: number } });
        throw new Error('dead before the head');
      },
    });
    await expect(readAll(dying, cursor)).rejects.toThrow('dead');
    nowMs += 9 * hourMs;
    await retention();
    expect(await deliveries.countDocuments({ _id: { $gte: 'recent', $lt: 'recenu' } })).toBe(102);
    await store({ _id: 'later' });
    // Either it is told (and found by who begins anew), or nothing is missing.
    expect(await follow(feedOn(), cursor)).toEqual([...recent, 'later']);
  });

  test('a reader that is frozen before its page, while one of the same number is made and has its time', async () => {
    nowMs += 40 * dayMs;
    await store(
      ...Array.from({ length: 150 }, (_, i) => ended(`n-${String(i).padStart(3, '0')}`, nowMs + i)),
    );
    const real = createFeedStore(bed.store);
    const frozen = feedOn({
      ...real,
      async add(applicationId, page) {
        if (page.number === 1) {
          // An instance that was away records what it delivered 29.9 days ago.
          await store(ended('old', nowMs - keptMs + hourMs));
          expect((await readAll(feedOn())).ids).toHaveLength(151);
          nowMs += dayMs;
          await retention();
        }
        return real.add(applicationId, page);
      },
    });
    await read(frozen).catch(() => undefined);
    // The page of the frozen reader stands where the other one was: its tag is not that before page 2. Who begins anew
    // gets to its end, is refused, begins anew, and so on, for as long as it is kept; with other limits all is read twice.
    const ids = await readAll(feedOn(), undefined, 1000).then((all) => all.ids);
    expect(ids.filter((id, i) => ids.indexOf(id) !== i)).toEqual([]);
    expect(await follow(feedOn())).toEqual(ids);
  });

  test('a reader that is frozen before its look tells that something was lost meanwhile', async () => {
    const { cursor } = await readAll(feedOn());
    nowMs += hourMs;
    await store(ended('lost'));
    nowMs += keptMs - 4 * hourMs;
    const real = createFeedStore(bed.store);
    let isFirst = true;
    const frozen = feedOn({
      ...real,
      async unplaced(...args) {
        if (isFirst) {
          isFirst = false;
          nowMs += dayMs;
          await retention();
          await store({ _id: 'new' });
        }
        return real.unplaced(...args);
      },
    });
    await readAll(frozen).catch(() => undefined);
    await expect(read(feedOn(), cursor)).rejects.toMatchObject({ code: 'invalid_argument' });
  });
});

describe('clocks', () => {
  test('an instance whose clock is an hour behind the database refuses what the database has removed', async () => {
    const { cursor } = await readAll(feedOn());
    await store(ended('a'), ended('b'));
    nowMs += 3 * hourMs;
    expect((await readAll(feedOn(), cursor)).ids).toEqual(['a', 'b']);
    nowMs += keptMs - 3 * hourMs + minuteMs;
    // MongoDB removes deliveries and pages one after the other, each once in a minute; the page is not gone yet.
    await deliveries.deleteMany({ expireAt: { $lte: new Date(nowMs) } });
    nowMs -= hourMs;
    await expect(read(feedOn(), cursor)).rejects.toMatchObject({ code: 'invalid_argument' });
  });

  test('what an instance records that was frozen for a day is kept from then on', async () => {
    const endedAtMs = nowMs;
    nowMs += 19 * hourMs;
    const { cursor } = await readAll(feedOn());
    nowMs += hourMs;
    await store({ _id: 'a', owner: 'other' });
    expect((await readAll(feedOn(), cursor)).ids).toEqual(['a']);
    nowMs += 4 * hourMs;
    // It went before its record (ADR 0050), and another instance has stored it meanwhile.
    const kept = { deliveredMs: keptMs, deadMs: keptMs };
    const frozen = new MongoDeliveryStore(bed.store, 'frozen', kept, { now: () => nowMs });
    const whole = await frozen.get('a');
    const change = {
      status: 'delivered',
      deliveredAtMs: endedAtMs,
      dueAtMs: endedAtMs,
      owner: null,
    } as const;
    await frozen.apply([{ id: 'a', change, whole } as never]);
    nowMs = endedAtMs + keptMs + hourMs;
    await retention();
    expect((await readAll(feedOn(), cursor)).ids).toEqual(['a']);
  });
});

test('a device that is forgotten after a reader has died before its marks is on no page', async () => {
  const deviceId = '350000000000001';
  await store(ended(`device-${deviceId}-16`), ended('n'));
  const dying = feedOn({
    ...createFeedStore(bed.store),
    complete: () => Promise.reject(new Error('dead')),
  });
  await expect(readAll(dying)).rejects.toThrow('dead');
  nowMs += dayMs;
  expect(await createForgetStore(bed.store).reported(deviceId, false)).toMatchObject({ removed: 1, left: 0 });
  expect((await readAll(feedOn())).ids).toEqual(['n']);
  const pages = await bed.store.collection<FeedPageDocument>(feedPagesCollection).find({}).toArray();
  expect(JSON.stringify(pages)).not.toContain(deviceId);
});

describe('a store that takes 300 ms for each call, and 5 s for a request', () => {
  const [callMs, deadlineMs] = [300, 5000];
  /** As the deadline does (ADR 0022): what is under way ends there, and no call begins after it. */
  function slow() {
    const call = <T>(calls: number, work: () => Promise<T>) => {
      if (spentMs + calls * callMs > deadlineMs) {
        spentMs = Number.POSITIVE_INFINITY;
        throw late();
      }
      spentMs += calls * callMs;
      return work();
    };
    const real = createFeedStore(bed.store);
    const asked: FeedStore = {
      ...real,
      head: async (a) => call(1, () => real.head(a)),
      begin: async (...a) => call(1, () => real.begin(...a)),
      // The three looks are at the same time.
      page: (...a) => real.page(...a),
      resent: (...a) => real.resent(...a),
      unplaced: async (...a) => call(1, () => real.unplaced(...a)),
      pages: async (...a) => call(1, () => real.pages(...a)),
      deliveries: async (ids) => call(1, () => real.deliveries(ids)),
      ofTransactions: async (a, keys) => call(keys.length > 0 ? 1 : 0, () => real.ofTransactions(a, keys)),
      add: async (...a) => call(1, () => real.add(...a)),
      complete: async (...a) => call(2, () => real.complete(...a)),
    };
    return {
      /** Rejects at the deadline. */
      async read(after: string | undefined, limit: number) {
        spentMs = 0;
        return await read(feedOn(asked), after, limit);
      },
    };
  }

  test('a reader that wants one event of many that wait gets it', async () => {
    await store(
      ...Array.from({ length: 1100 }, (_, i) => ended(`n-${String(i).padStart(4, '0')}`, nowMs + i)),
    );
    expect(idsOf(await slow().read(undefined, 1))).toEqual(['n-0000']);
  });

  test('a reader that asks for more than there is gets what there is, while one comes with each request', async () => {
    await store(
      ...Array.from({ length: 820 }, (_, i) => ended(`n-${String(i).padStart(4, '0')}`, nowMs + i)),
    );
    const begin = await read(feedOn(), undefined, 1);
    const reader = slow();
    let refusals = 0;
    for (; refusals < 20; refusals++) {
      await store({ _id: `new-${refusals}` });
      const answer = await reader.read(begin.cursor, 1000).catch(() => undefined);
      if (answer) break;
    }
    expect(refusals).toBeLessThan(3);
  });
});
