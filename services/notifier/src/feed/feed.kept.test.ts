/** What a third attempt to break the promises of ADR 0053 found: what is kept, and what is told. */
import type { TestBed } from '@headset-cloud/embedded/testing/bed.ts';
import type { StoreCollection } from '@headset-cloud/kit/store/types.ts';
import { sentAgain } from '../store/deliveries.ts';
import type { DeliveryDocument } from '../store/documents.ts';
import { createFeedStore, type FeedPageDocument } from '../store/feed.ts';
import { createForgetStore } from '../store/forget.ts';
import { feedPagesCollection } from '../store/indexes.ts';
import { createNoticeStore } from '../store/notices.ts';
import {
  dayMs,
  feedTools,
  keptMs,
  numbered,
  openFeedBed,
  openMs,
  stoppedBeforeRemoval,
} from '../testing/feed-bed.ts';
import { Feed } from './feed.ts';

const minuteMs = 60_000;
const hourMs = 60 * minuteMs;
const deadMs = 90 * dayMs;
const beganAtMs = Date.UTC(2026, 0, 1);

let bed: TestBed;
let deliveries: StoreCollection<DeliveryDocument>;
let nowMs: number;
beforeEach(async () => {
  nowMs = beganAtMs;
  ({ bed, deliveries } = await openFeedBed());
});
afterEach(() => bed.remove());

const { feedOn, store, ended, retention, idsOf, read, readAll } = feedTools({
  ...{ bed: () => bed, nowMs: () => nowMs, spentMs: () => 0, longestMs: deadMs },
});
const named = (text: string, count: number) => Array.from({ length: count }, (_, i) => numbered(text, i));
/** How those end that were sent, now. */
const end = (ids: readonly string[], status: 'delivered' | 'dead') =>
  deliveries.updateMany(
    { _id: { $in: [...ids] } },
    { $set: { status, expireAt: new Date(nowMs + (status === 'dead' ? deadMs : keptMs)) } },
  );

/** What a reader gets with a cursor, or that it is told that something is missing. */
const told = (after: string, more: { withResends?: boolean } = {}) =>
  readAll(feedOn(), after, 100, more).then(
    ({ ids }) => ids,
    ({ code }: { code?: string }) => code,
  );
/** Follows the contract: refused, it begins anew and leaves out what it has had. */
async function byTheContract(limit: number, mostRequests: number, pause: () => Promise<void>) {
  const had = new Set<string>();
  let [cursor, refusals]: [string | undefined, number] = [undefined, 0];
  for (let requests = 1; requests <= mostRequests; requests++) {
    await pause();
    try {
      const answer = await read(feedOn(), cursor, limit);
      for (const id of idsOf(answer)) had.add(id);
      cursor = answer.cursor;
      if (!answer.more) return { had, refusals, arrived: true };
    } catch (error) {
      expect(error).toMatchObject({ code: 'invalid_argument' });
      refusals++;
      cursor = undefined;
    }
  }
  return { had, refusals, arrived: false };
}
/** Somebody reads all, each day. */
async function days(count: number) {
  for (let i = 0; i < count; i++) {
    nowMs += dayMs;
    await retention();
    await readAll(feedOn());
  }
}

describe('what waits for its place beyond the 1,001 that a look takes', () => {
  test('and ends before those is told to who polls: stopped after one request, gone on two days later', async () => {
    const { cursor } = await readAll(feedOn());
    // An address fails for 3 days: these are delivered when it is back. Another setting's address takes all at once.
    await store(...named('slow', 1200).map((id, i) => ended(id, nowMs + i, keptMs + 2.9 * dayMs)));
    await store(...named('quick', 50).map((id, i) => ended(id, nowMs + hourMs + i)));
    nowMs += 29 * dayMs;
    const first = await read(feedOn(), cursor);
    expect(first.events).toHaveLength(100);
    nowMs += 2 * dayMs;
    await retention();
    expect(await deliveries.countDocuments({ _id: { $gte: 'quick', $lt: 'r' } })).toBe(0);
    expect(await told(first.cursor)).toBe('invalid_argument');
  });

  test('of a recovery of thousands: who reads also what was sent again is told what went before its place', async () => {
    await store(...named('n', 2500).map((id, i) => ended(id, nowMs + i)));
    const { cursor } = await readAll(feedOn(), undefined, 1000);
    await deliveries.updateMany({}, sentAgain(nowMs));
    await end(named('n', 2500), 'delivered');
    nowMs += 29 * dayMs;
    const first = await read(feedOn(), cursor, 1000, { withResends: true });
    expect(first.events).toHaveLength(1000);
    nowMs += 2 * dayMs;
    await retention();
    // The other 1,500 are gone, and never stood anywhere for having been sent again.
    expect(await told(first.cursor, { withResends: true })).toBe('invalid_argument');
  });
});

test('who begins first on a feed of 30 full days is not refused again and again, reading 5 times as fast as events came', async () => {
  // One each 1.5 seconds; nobody has read the feed before. The oldest goes in a minute.
  const at = (i: number) => nowMs - keptMs + minuteMs + i * 1500;
  await store(...named('n', 8000).map((id, i) => ended(id, at(i))));
  let missed = 0;
  // 100 events, so 150 seconds of the feed, each 30 seconds.
  const { refusals, arrived } = await byTheContract(100, 300, async () => {
    nowMs += 30_000;
    missed = await deliveries.countDocuments({ expireAt: { $lte: new Date(nowMs) }, unplaced: true });
    await retention();
  });
  // Nothing went before it had its place.
  expect({ refusals, arrived, missed }).toEqual({ refusals: 0, arrived: true, missed: 0 });
}, 240_000);

test('who begins at an instance an hour behind the one that told a gap is not refused again and again', async () => {
  await store({ _id: 'first' });
  await readAll(feedOn());
  // Nobody reads for 29 days and 21 hours, so nothing can be missing.
  nowMs += keptMs - 3 * hourMs;
  await store({ _id: 'new' });
  nowMs += hourMs + minuteMs;
  expect((await readAll(feedOn())).ids).toEqual(['first', 'new']);
  nowMs -= hourMs;
  let refusals = 0;
  for (let i = 0; i < 50; i++) {
    nowMs += minuteMs;
    await readAll(feedOn()).catch(() => refusals++);
  }
  expect(refusals).toBeLessThanOrEqual(1);
});

describe('an event that is kept for longer than its page knows', () => {
  test('since it was given up after it had its place: a reader that began while it was there is told that it went', async () => {
    await store(...named('n', 3).map((_id) => ({ _id })));
    await readAll(feedOn());
    nowMs += openMs;
    await end(named('n', 3), 'dead');
    await days(40);
    // Day 42.
    const { cursor, events } = await read(feedOn(), undefined, 1);
    expect(events).toHaveLength(1);
    await days(50);
    nowMs += hourMs;
    await retention();
    expect(await deliveries.countDocuments({})).toBe(0);
    expect(await told(cursor)).toBe('invalid_argument');
  });

  test('since it was sent again: who begins finds it, though its page has had its time', async () => {
    await store({ _id: 'a' });
    await readAll(feedOn());
    nowMs += openMs;
    await end(['a'], 'dead');
    await days(60);
    // A recovery, in vain: it is given up once more, and kept until day 154.
    await deliveries.updateMany({}, sentAgain(nowMs));
    nowMs += openMs;
    await end(['a'], 'dead');
    await days(36);
    expect(await deliveries.countDocuments({})).toBe(1);
    expect((await readAll(feedOn())).ids).toEqual(['a']);
  });

  test('the same where given up ones are kept as long as delivered ones', async () => {
    const feed = () =>
      new Feed({
        store: createFeedStore(bed.store),
        clock: { now: () => nowMs },
        keptMs,
        longestMs: keptMs,
        openMs,
      });
    await store(ended('a'));
    await readAll(feed());
    nowMs += 20 * dayMs;
    await deliveries.updateMany({}, sentAgain(nowMs));
    await end(['a'], 'delivered');
    await readAll(feed());
    // Until day 50; its page was to go on day 33.
    nowMs += 14 * dayMs;
    await retention();
    expect(await deliveries.countDocuments({})).toBe(1);
    expect((await readAll(feed())).ids).toEqual(['a']);
  });
});

test('what was forgotten of transactions does not have a reader refused that begins anew, again and again', async () => {
  let { cursor } = await readAll(feedOn());
  for (let i = 0; i < 300; i++) {
    // Every third is of a device that is forgotten a day later.
    await store(
      i % 3 === 0 ? { ...ended(`tx-${i}-accepted`), orderKey: `tx-${i}` } : ended(numbered('n', i)),
    );
    ({ cursor } = await readAll(feedOn(), cursor));
    nowMs += minuteMs;
  }
  nowMs += dayMs;
  const forget = createForgetStore(bed.store);
  for (let i = 0; i < 300; i += 3) await forget.ofTransaction(i, false);
  nowMs = beganAtMs + keptMs + 5 * minuteMs;
  // 10 places, so 10 minutes of the feed, each 2 minutes.
  const { refusals, arrived } = await byTheContract(7, 200, async () => {
    nowMs += 2 * minuteMs;
    await retention();
  });
  expect({ refusals, arrived }).toEqual({ refusals: 0, arrived: true });
}, 60_000);

describe('only the first reader walks over empty places, 10,000 in a request,', () => {
  const ofManyGone = (count: number) => store(...named('n', count).map((_id) => ended(_id)));
  /** A month later; pages stay for two months more. */
  async function allGoneAndOneNew() {
    nowMs += keptMs + hourMs;
    await retention();
    await store({ _id: 'new' });
    expect((await readAll(feedOn())).ids).toEqual(expect.arrayContaining(['new']));
  }

  test('also where pages are not full', async () => {
    let after = (await readAll(feedOn())).cursor;
    // A steady reader, so pages of what came meanwhile: 204 of 99.
    for (let i = 0; i < 204; i++) {
      await store(...named(`n${i}`, 99).map((id) => ended(id)));
      after = (await readAll(feedOn(), after)).cursor;
    }
    await allGoneAndOneNew();
    expect(idsOf(await read(feedOn()))).toEqual(['new']);
  }, 240_000);

  test('also where one of them was sent again once', async () => {
    await store(ended('a'));
    await readAll(feedOn());
    await deliveries.updateMany({}, sentAgain(nowMs));
    await end(['a'], 'delivered');
    await readAll(feedOn());
    await ofManyGone(20_200);
    await readAll(feedOn(), undefined, 1000);
    await allGoneAndOneNew();
    expect(await deliveries.countDocuments({})).toBe(1);
    expect(idsOf(await read(feedOn()))).toEqual(['new']);
  }, 240_000);

  test('also where one that was given up is before them, which is kept for longer', async () => {
    await store(ended('dead', nowMs, deadMs));
    await ofManyGone(20_200);
    await readAll(feedOn(), undefined, 1000);
    await allGoneAndOneNew();
    // The second one: the one that is kept, and what is new, in a request or two.
    const first = await read(feedOn());
    const second = await read(feedOn(), first.cursor);
    expect([...idsOf(first), ...idsOf(second)]).toEqual(['dead', 'new']);
  }, 240_000);
});

test('a page that a reader has left without marks, and of which some had their time before the next one, is told', async () => {
  const { cursor } = await readAll(feedOn());
  nowMs += hourMs;
  await store(ended('a'), ended('b'));
  // All is there for eight hours more.
  nowMs += keptMs - 8 * hourMs;
  await store(ended('c'));
  const dying = feedOn({
    ...createFeedStore(bed.store),
    complete: () => Promise.reject(new Error('deadline')),
  });
  await expect(read(dying, cursor)).rejects.toThrow('deadline');
  nowMs += 9 * hourMs;
  await retention();
  expect(await deliveries.countDocuments({})).toBe(1);
  // Whoever marks the page takes off it what is gone, as if it had been forgotten.
  expect(await told(cursor)).toBe('invalid_argument');
});

describe('what was decided before it is stored', () => {
  test('a notice is kept from its storing on', async () => {
    const decidedAtMs = nowMs;
    // Its process died in between; another one answers readers.
    nowMs += 3 * hourMs;
    const { cursor } = await readAll(feedOn());
    await createNoticeStore(bed.store, { deliveredMs: keptMs, deadMs }, { now: () => nowMs }).insert({
      ...{
        id: 'notice-1',
        applicationId: 'app',
        type: 'notify-destination-failing',
        orderKey: '',
        sequence: 1,
      },
      ...{ body: '{"operationId":"notify-destination-failing"}', createdAtMs: decidedAtMs, isSent: false },
      ...{ names: [], told: {} },
    } as never);
    nowMs = decidedAtMs + keptMs - 4 * hourMs;
    await retention();
    expect(await told(cursor)).toEqual(['notice-1']);
    nowMs += 5 * hourMs;
    await retention();
    expect(await deliveries.countDocuments({})).toBe(1);
  });
});

test('sent again twice, the second time while a dead reader has left its page without marks: the last one is shown', async () => {
  await store(ended('a'));
  const { cursor } = await readAll(feedOn());
  const again = async () => {
    await deliveries.updateMany({ _id: 'a' }, sentAgain(nowMs));
    await end(['a'], 'delivered');
  };
  await again();
  const dying = feedOn({ ...createFeedStore(bed.store), complete: () => Promise.reject(new Error('dead')) });
  await expect(readAll(dying, cursor)).rejects.toThrow('dead');
  nowMs += hourMs;
  await again();
  const { events } = await read(feedOn(), cursor, 100, { withResends: true });
  expect(events.map(({ resends }) => resends)).toContain(2);
});

describe('forgetting', () => {
  const deviceId = '350000000000001';
  const id = `device-${deviceId}-16`;
  const onPages = async () =>
    JSON.stringify(
      await bed.store.collection<FeedPageDocument>(feedPagesCollection).find({}).toArray(),
    ).includes(deviceId);

  test('while a recovery sends the device its callbacks again and a reader reads leaves it on no page', async () => {
    await store(ended(id), ended('n'));
    await readAll(feedOn());
    let isFirst = true;
    const between = stoppedBeforeRemoval(bed.store, async () => {
      if (isFirst) {
        isFirst = false;
        // It is off its page. The recovery has it sent, it arrives, and the reader gives it a further place.
        await deliveries.updateMany({ _id: id }, sentAgain(nowMs));
        await end([id], 'delivered');
        await readAll(feedOn(), undefined, 100, { withResends: true });
      }
    });
    const forget = createForgetStore(between);
    for (let run = 0; run < 3; run++) if (!(await forget.reported(deviceId, false)).more) break;
    expect(await deliveries.countDocuments({ _id: id })).toBe(0);
    await readAll(feedOn());
    expect(await onPages()).toBe(false);
  });
});

describe('a cursor is valid for 29 days and 18 hours', () => {
  const validMs = keptMs - 6 * hourMs;

  test('from when its reader began, or was at the end', async () => {
    await store(...named('a', 3).map((_id) => ({ _id })));
    const begun = await read(feedOn(), undefined, 1);
    nowMs += hourMs;
    const { cursor } = await readAll(feedOn(), begun.cursor);
    // Somebody else gives places to what comes.
    await store(...named('b', 2).map((_id) => ({ _id })));
    await readAll(feedOn());
    nowMs = beganAtMs + validMs;
    expect(await told(begun.cursor)).toHaveLength(4);
    nowMs++;
    expect(await told(begun.cursor)).toBe('invalid_argument');
    nowMs = beganAtMs + hourMs + validMs;
    expect(await told(cursor)).toHaveLength(2);
    nowMs++;
    expect(await told(cursor)).toBe('invalid_argument');
  });

  test('at the end also from when anybody was there, whatever comes then', async () => {
    await store({ _id: 'first' });
    const { cursor } = await readAll(feedOn());
    // A reader that stores its cursor only when there was something.
    for (let day = 0; day < 60; day++) {
      nowMs += dayMs;
      expect((await readAll(feedOn(), cursor)).ids).toEqual([]);
    }
    await store(...named('n', 250).map((_id, i) => ({ _id, createdAtMs: nowMs + i })));
    expect((await readAll(feedOn(), cursor, 30)).ids).toEqual(named('n', 250));
  });

  test('and goes on from when anybody was there, also when it is read in small steps', async () => {
    await store({ _id: 'first' });
    const { cursor } = await readAll(feedOn());
    // Somebody else polls.
    await days(29);
    await store(...named('n', 250).map((_id, i) => ({ _id, createdAtMs: nowMs + i })));
    const first = await read(feedOn(), cursor, 30);
    expect(first.events).toHaveLength(30);
    nowMs += dayMs;
    expect(await told(first.cursor)).toEqual(named('n', 250).slice(30));
  });

  test('not from when its events got their places: one page of a look says nothing of the next', async () => {
    const { cursor } = await readAll(feedOn());
    await store(...named('n', 150).map((id, i) => ended(id, nowMs + i)));
    nowMs += 20 * dayMs;
    const first = await read(feedOn(), cursor, 100);
    expect(first).toMatchObject({ more: true });
    nowMs += 11 * dayMs;
    await retention();
    expect(await deliveries.countDocuments({})).toBe(0);
    expect(await told(first.cursor)).toBe('invalid_argument');
  });

  test('for a reader that is always behind, from what it has come to', async () => {
    await store(ended('first'));
    let { cursor } = await readAll(feedOn());
    const seen: string[] = [];
    for (let day = 0; day < 90; day++) {
      await store(ended(numbered('n', day)));
      // Another reader comes to the end each day.
      await readAll(feedOn());
      nowMs += dayMs;
      await retention();
      if (day < 20) continue;
      const answer = await read(feedOn(), cursor, 1);
      expect(answer.more).toBe(true);
      seen.push(...idsOf(answer));
      ({ cursor } = answer);
    }
    expect(seen).toEqual(named('n', 70));
  });
});

test('a page of which nothing is left is removed by who finds so, three days after it was made', async () => {
  const pages = () => bed.store.collection<FeedPageDocument>(feedPagesCollection).countDocuments({});
  await store(ended('old', nowMs - keptMs + hourMs));
  await readAll(feedOn());
  await store(ended('dead', nowMs, deadMs));
  await readAll(feedOn());
  nowMs += 2 * hourMs;
  await retention();
  expect((await readAll(feedOn())).ids).toEqual(['dead']);
  expect(await pages()).toBe(2);
  nowMs += 3 * dayMs;
  expect((await readAll(feedOn())).ids).toEqual(['dead']);
  expect(await pages()).toBe(1);
  expect((await readAll(feedOn())).ids).toEqual(['dead']);
});

test('a page stays for what is left on it, whoever reads, and from wherever', async () => {
  await store(ended('dead', nowMs, deadMs), ended('ok'));
  await readAll(feedOn());
  await deliveries.updateMany({ _id: 'dead' }, sentAgain(nowMs));
  await end(['dead'], 'dead');
  await readAll(feedOn());
  await days(31);
  const first = await read(feedOn(), undefined, 1);
  // The rest of the first page is empty; on the second is what this reader does not ask for.
  expect((await readAll(feedOn(), first.cursor)).ids).toEqual([]);
  expect((await readAll(feedOn(), undefined, 100, { withResends: true })).ids).toEqual(['dead', 'dead']);
});
