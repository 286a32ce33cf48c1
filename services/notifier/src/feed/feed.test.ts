import type { TestBed } from '@headset-cloud/embedded/testing/bed.ts';
import type { StoreCollection } from '@headset-cloud/kit/store/types.ts';
import type { FeedFilter } from '../domain/feed-cursor.ts';
import type { FeedPage, FeedStore } from '../ports.ts';
import { sentAgain } from '../store/deliveries.ts';
import type { DeliveryDocument } from '../store/documents.ts';
import { createFeedStore } from '../store/feed.ts';
import { feedPagesCollection } from '../store/indexes.ts';
import { dayMs, eventDocument, type Given, keptMs, openFeedBed, openMs } from '../testing/feed-bed.ts';
import { Feed } from './feed.ts';
import type { FeedAnswer, FeedRequest } from './reading.ts';

const beganAtMs = Date.UTC(2026, 0, 1);

let bed: TestBed;
let deliveries: StoreCollection<DeliveryDocument>;
let nowMs: number;
beforeEach(async () => {
  nowMs = beganAtMs;
  ({ bed, deliveries } = await openFeedBed());
});
afterEach(() => bed.remove());

const feedOn = (store: FeedStore = createFeedStore(bed.store)) =>
  new Feed({ store, clock: { now: () => nowMs }, keptMs, longestMs: keptMs, openMs });

const store = (...given: Given[]) => deliveries.insertMany(given.map((one) => eventDocument(one, nowMs)));
const many = (count: number, name = 'n', more: Partial<DeliveryDocument> = {}) =>
  Array.from({ length: count }, (_, i) => ({
    ...{ _id: `${name}-${String(i).padStart(5, '0')}`, createdAtMs: beganAtMs + i },
    ...more,
  }));

/** What MongoDB does with those that had their time. */
const removed = (name: string) => deliveries.deleteMany({ _id: { $gte: `${name}-`, $lt: `${name}.` } });

const idsOf = ({ events }: FeedAnswer) => events.map(({ delivery }) => delivery.id);
const everything: FeedFilter = { types: [], deviceId: '' };
const read = (feed: Feed, after?: string, limit = 100, filter: Partial<FeedFilter> = {}) =>
  feed.read({ applicationId: 'app', after, limit, filter: { ...everything, ...filter } });

/** All that a reader gets who reads on until nothing is left. */
async function readAll(feed: Feed, after?: string, limit = 100, filter: Partial<FeedFilter> = {}) {
  const ids: string[] = [];
  for (let cursor = after; ; ) {
    const answer = await read(feed, cursor, limit, filter);
    ids.push(...idsOf(answer));
    cursor = answer.cursor;
    if (!answer.more) return { ids, cursor };
  }
}

const refused = (reason: RegExp) =>
  expect.objectContaining({ code: 'invalid_argument', message: expect.stringMatching(reason) });

test('every reader sees the same order, whatever its limit, and a cursor leads on exactly behind its event', async () => {
  await store(...many(250));
  const feed = feedOn();
  const { ids } = await readAll(feed);
  expect(ids).toEqual(many(250).map(({ _id }) => _id));
  for (const limit of [1, 7, 99, 100, 101, 1000]) {
    expect((await readAll(feed, undefined, limit)).ids).toEqual(ids);
  }
});

test('what is stored later comes behind every cursor that was given, though it was created before', async () => {
  await store(...many(3, 'first'));
  const feed = feedOn();
  const { ids, cursor } = await readAll(feed);
  expect(ids).toHaveLength(3);
  await store({ _id: 'old', createdAtMs: beganAtMs - dayMs }, { _id: 'new' });
  expect((await readAll(feed, cursor)).ids).toEqual(['old', 'new']);
  expect((await readAll(feed)).ids).toEqual([...ids, 'old', 'new']);
});

test('the callbacks of a transaction come in their order, though clocks that step put a page of others between', async () => {
  const of = (sequence: number, createdAtMs: number): Given => ({
    _id: `tx-7-${sequence}`,
    ...{ orderKey: 'tx-7', order: 'ended', sequence, createdAtMs },
  });
  // The start was taken in by a process whose clock was an hour ahead.
  await store(of(2, beganAtMs - 5), of(3, beganAtMs - 10), of(1, beganAtMs + 3_600_000), ...many(1350));
  const { ids } = await readAll(feedOn());
  expect(ids).toHaveLength(1353);
  expect(ids.filter((id) => id.startsWith('tx-7-'))).toEqual(['tx-7-1', 'tx-7-2', 'tx-7-3']);
  expect(new Set(ids).size).toBe(1353);
});

test('the reports of a device come in their order where they are given places together', async () => {
  const of = (sequence: number, createdAtMs: number): Given => ({
    _id: `device-1-${sequence}`,
    ...{ orderKey: 'device-1/app/deviceEvent', order: 'tried', sequence, createdAtMs },
  });
  await store(of(16, beganAtMs + 20), of(32, beganAtMs + 10), of(48, beganAtMs + 15));
  expect((await readAll(feedOn())).ids).toEqual(['device-1-16', 'device-1-32', 'device-1-48']);
});

test('readers of several instances that read while events come see each once, in one order', async () => {
  const readers = [feedOn(), feedOn(), feedOn()];
  let stored = 0;
  const writing = (async () => {
    for (; stored < 600; stored += 20) await store(...many(20, `w${String(stored).padStart(4, '0')}`));
  })();
  const seen = await Promise.all(
    readers.map(async (feed) => {
      const ids: string[] = [];
      let cursor: string | undefined;
      for (let over = false; ; ) {
        const answer = await read(feed, cursor, 37);
        ids.push(...idsOf(answer));
        cursor = answer.cursor;
        if (over && !answer.more && answer.events.length === 0) return ids;
        over = stored >= 600;
      }
    }),
  );
  await writing;
  for (const ids of seen) {
    expect(ids).toHaveLength(600);
    expect(new Set(ids).size).toBe(600);
    expect(ids).toEqual(seen[0]);
  }
});

test('a reader that dies between a page and its marks leaves nothing twice and nothing out', async () => {
  await store(...many(150));
  const real = createFeedStore(bed.store);
  const dying = feedOn({
    ...real,
    complete: () => Promise.reject(new Error('dead')),
  });
  await expect(read(dying)).rejects.toThrow('dead');
  await store(...many(10, 'z'));
  const { ids } = await readAll(feedOn());
  expect(ids).toHaveLength(160);
  expect(new Set(ids).size).toBe(160);
});

test('a reader that dies in the middle of the pages of one look leaves nothing twice and nothing out', async () => {
  await store(...many(1500));
  const real = createFeedStore(bed.store);
  for (const diesIn of ['add', 'complete'] as const) {
    let left = 3;
    const dying = feedOn({
      ...real,
      [diesIn]: async (...args: [string, FeedPage]) => {
        if (left-- === 0) throw new Error('dead');
        return real[diesIn](...args);
      },
    });
    await expect(readAll(dying)).rejects.toThrow('dead');
  }
  const { ids } = await readAll(feedOn());
  expect(ids).toEqual(many(1500).map(({ _id }) => _id));
});

test('a reader that stops between the pages of one look, while others read on, puts nothing behind their cursors', async () => {
  await store(...many(450));
  const real = createFeedStore(bed.store);
  const others = feedOn();
  let seen: Awaited<ReturnType<typeof readAll>> | undefined;
  let added = 0;
  const stopped = feedOn({
    ...real,
    add: async (...args) => {
      if (++added === 3) {
        await store({ _id: 'old', createdAtMs: beganAtMs - dayMs });
        seen = await readAll(others);
        await store({ _id: 'later' });
      }
      return real.add(...args);
    },
  });
  const all = await readAll(stopped);
  expect(added).toBeGreaterThan(3);
  expect(seen?.ids).toHaveLength(451);
  expect(all.ids).toEqual([...(seen?.ids ?? []), 'later']);
  expect((await readAll(others, seen?.cursor)).ids).toEqual(['later']);
});

test('a reader with short pages and much before it looks for what is new once for ten of them', async () => {
  await store(...many(2050));
  const real = createFeedStore(bed.store);
  let looks = 0;
  const counting = feedOn({
    ...real,
    unplaced: (...args) => {
      looks++;
      return real.unplaced(...args);
    },
  });
  expect((await readAll(counting)).ids).toHaveLength(2050);
  expect(looks).toBe(3);
});

test('a cursor that is unknown, of another application or of other filters is refused, and the refusal says how to go on', async () => {
  await store(...many(5));
  const feed = feedOn();
  const { cursor } = await read(feed, undefined, 3);
  for (const unknown of ['x', 'a'.repeat(2000), cursor.slice(0, -3), `${cursor}A`, '\u0000']) {
    const tried = read(feed, unknown).then(({ events }) => events.length);
    await expect(tried).rejects.toEqual(refused(/Read without after/));
  }
  await expect(
    feed.read({ applicationId: 'other', after: cursor, limit: 1, filter: everything }),
  ).rejects.toEqual(refused(/another application.*Read without after/));
  await expect(read(feed, cursor, 3, { deviceId: '350000000000001' })).rejects.toEqual(
    refused(/other filters.*read without after/),
  );
  // Of a database that was lost: the same page has another tag now.
  await bed.store.collection(feedPagesCollection).deleteMany({});
  await bed.store.collection('feeds').deleteMany({});
  await deliveries.updateMany({}, { $set: { unplaced: true } });
  await readAll(feed);
  await expect(read(feed, cursor)).rejects.toEqual(refused(/not known.*Read without after/));
});

test('a filter that fits rarely costs a bounded part of each request, and its cursor moves on', async () => {
  await store(...many(2500));
  await deliveries.updateOne(
    { _id: 'n-02400' },
    { $set: { body: Buffer.from('{"operationId":"notify-volume"}') } },
  );
  const feed = feedOn();
  await readAll(feed);
  const before = bed.documentsExamined();
  const first = await read(feed, undefined, 10, { types: ['notify-volume'] });
  expect(first).toMatchObject({ events: [], more: true });
  if (before > 0) expect(bed.documentsExamined() - before).toBeLessThan(1200);
  const { ids } = await readAll(feed, first.cursor, 10, { types: ['notify-volume'] });
  expect(ids).toEqual(['n-02400']);
  expect((await readAll(feed, undefined, 1000, { deviceId: '350000000000001' })).ids).toHaveLength(2499);
  expect((await readAll(feed, undefined, 1000, { deviceId: '350000000000002' })).ids).toEqual([]);
});

test('events behind a cursor that had their time are told, and who begins anew gets all that is kept', async () => {
  const feed = feedOn();
  await store(...many(3, 'a', { status: 'delivered', expireAt: new Date(beganAtMs + keptMs) }));
  const { cursor } = await read(feed, undefined, 1);
  nowMs += 20 * dayMs;
  await store(...many(2, 'b', { createdAtMs: nowMs }));
  expect((await readAll(feed)).ids).toHaveLength(5);
  nowMs = beganAtMs + keptMs + 1;
  await removed('a');
  await expect(read(feed, cursor)).rejects.toEqual(refused(/expired.*Read without after/));
  const anew = await readAll(feed);
  expect(anew.ids).toEqual(['b-00000', 'b-00001']);
  await store({ _id: 'c', createdAtMs: nowMs });
  expect((await readAll(feed, anew.cursor)).ids).toEqual(['c']);
});

test('events that were removed before anybody asked for them are told as well', async () => {
  const feed = feedOn();
  await store(...many(2, 'a'));
  const { cursor } = await readAll(feed);
  // A month without a reader; what came in its first days is gone.
  nowMs += keptMs + dayMs;
  await removed('a');
  await store({ _id: 'late', createdAtMs: nowMs });
  await expect(read(feed, cursor)).rejects.toEqual(refused(/expired/));
  const anew = await readAll(feed);
  expect(anew.ids).toEqual(['late']);
  expect((await readAll(feed, anew.cursor)).ids).toEqual([]);
});

test('who begins after a long time without readers is not refused, nor when he goes on', async () => {
  const feed = feedOn();
  await store(...many(2, 'a'));
  await readAll(feed);
  nowMs += keptMs + dayMs;
  await removed('a');
  await store(...many(3, 'late', { createdAtMs: nowMs }));
  const first = await read(feed, undefined, 1);
  expect(idsOf(first)).toEqual(['late-00000']);
  expect((await readAll(feed, first.cursor)).ids).toEqual(['late-00001', 'late-00002']);
});

test('a reader that looks every day and finds nothing for a long time is not refused', async () => {
  const feed = feedOn();
  await store({ _id: 'first' });
  let { cursor } = await readAll(feed);
  for (let day = 0; day < 50; day++) {
    nowMs += dayMs;
    ({ cursor } = await readAll(feed, cursor));
  }
  // The page of the first one is removed by now.
  await bed.store.collection(feedPagesCollection).deleteMany({});
  ({ cursor } = await readAll(feed, cursor));
  await store({ _id: 'second', createdAtMs: nowMs });
  expect((await readAll(feed, cursor)).ids).toEqual(['second']);
});

test('what is forgotten is left out, and cursors stay right', async () => {
  await store(...many(6));
  const feed = feedOn();
  const { cursor } = await read(feed, undefined, 2);
  await deliveries.deleteMany({ _id: { $in: ['n-00000', 'n-00003'] } });
  expect((await readAll(feed, cursor)).ids).toEqual(['n-00002', 'n-00004', 'n-00005']);
  expect((await readAll(feed)).ids).toEqual(['n-00001', 'n-00002', 'n-00004', 'n-00005']);
});

test('bodies of many bytes make a response shorter, and none is lost', async () => {
  const body = Buffer.from(
    JSON.stringify({ operationId: 'notify-custom-data', customData: 'x'.repeat(60_000) }),
  );
  await store(...many(40, 'n', { body }));
  const feed = feedOn();
  const first = await read(feed);
  expect(first.events.length).toBeLessThan(25);
  expect(first.more).toBe(true);
  expect([...idsOf(first), ...(await readAll(feed, first.cursor)).ids]).toHaveLength(40);
});

test('a page costs the same work however much is stored, read or not', async () => {
  const feed = feedOn();
  const work = async () => {
    const { cursor } = await readAll(feed, undefined, 1000);
    await store(...many(120, `new${nowMs++}`));
    const before = bed.documentsExamined();
    await read(feed, cursor, 100);
    return bed.documentsExamined() - before;
  };
  await store(...many(300, 'few'));
  const few = await work();
  await store(...many(5000, 'many'), ...many(5000, 'other', { applicationId: 'other' }));
  const much = await work();
  expect(much).toBeLessThanOrEqual(few * 1.2 + 2);
});

/** Ids, with how many times each was sent again where it stands for that. */
async function readResends(feed: Feed, request: Partial<FeedRequest> = {}) {
  const seen: string[] = [];
  const shown: FeedRequest = { applicationId: 'app', after: undefined, limit: 7, filter: everything };
  for (let after = request.after; ; ) {
    const answer = await feed.read({ ...shown, withResends: true, ...request, after });
    seen.push(
      ...answer.events.map(({ delivery, resends }) => (resends ? `${delivery.id}*${resends}` : delivery.id)),
    );
    after = answer.cursor;
    if (!answer.more) return { seen, cursor: after };
  }
}
const sendAgain = (...ids: string[]) => deliveries.updateMany({ _id: { $in: ids } }, sentAgain(nowMs++));

test('what is sent again stands where that was, for those who ask for it, and others see each event once', async () => {
  await store(...many(3, 'a'));
  const feed = feedOn();
  const { ids, cursor } = await readAll(feed);
  await sendAgain('a-00001');
  await store({ _id: 'b' });
  // One that has no place yet gets one.
  await sendAgain('b');
  expect((await readResends(feed, { after: cursor })).seen).toEqual(['b', 'a-00001*1']);
  await store({ _id: 'c' });
  const all = [...ids, 'b', 'c'];
  expect((await readAll(feed)).ids).toEqual(all);
  expect((await readResends(feed)).seen).toEqual([...ids, 'b', 'a-00001*1', 'c']);
  // Once more: it stands at its last place, from when that is given.
  await sendAgain('a-00001', 'a-00002', 'b');
  await sendAgain('b');
  const again = await readResends(feed, { after: (await readAll(feed)).cursor });
  expect(again.seen).toEqual([]);
  expect((await readResends(feed)).seen).toEqual([...all, 'a-00001*2', 'a-00002*1', 'b*3']);
  expect((await readAll(feed, again.cursor)).ids).toEqual([]);
  expect((await readAll(feed)).ids).toEqual(all);
});

test('many that are sent again come page by page, behind what is new', async () => {
  await store(...many(250));
  const feed = feedOn();
  const { ids, cursor } = await readAll(feed);
  await sendAgain(...ids);
  await store(...many(120, 'new'));
  const { seen } = await readResends(feed, { after: cursor, limit: 1000 });
  expect(seen).toHaveLength(370);
  expect(seen.slice(0, 120).every((id) => id.startsWith('new-'))).toBe(true);
  expect(seen.slice(120)).toEqual(expect.arrayContaining(ids.map((id) => `${id}*1`)));
  expect((await readAll(feed)).ids).toHaveLength(370);
});

test('what was sent again again and again costs other readers little, whatever their limit', async () => {
  await store(...many(300));
  const feed = feedOn();
  const { ids, cursor } = await readAll(feed);
  for (let i = 0; i < 10; i++) {
    await sendAgain(...ids);
    await readAll(feed);
  }
  await store({ _id: 'new' });
  for (const limit of [1, 100]) {
    const before = bed.documentsExamined();
    // One request passes over all of it.
    const answer = await read(feed, cursor, limit);
    expect(idsOf(answer)).toEqual(['new']);
    if (before > 0) expect(bed.documentsExamined() - before).toBeLessThan(100);
  }
});

test('a reader that marks a page long after another one has takes no place from what was sent again since', async () => {
  await store({ _id: 'a' });
  const real = createFeedStore(bed.store);
  let late = () => Promise.resolve();
  const slow = feedOn({
    ...real,
    async complete(applicationId, page) {
      const before = late;
      late = async () => {
        await before();
        await real.complete(applicationId, page);
      };
      await real.complete(applicationId, page);
    },
  });
  const { cursor } = await readResends(slow);
  await sendAgain('a');
  await late();
  const first = await readResends(slow, { after: cursor });
  expect(first.seen).toEqual(['a*1']);
  await sendAgain('a');
  await late();
  expect((await readResends(slow, { after: first.cursor })).seen).toEqual(['a*2']);
});

test('a reader that dies before the marks of what was sent again loses none, nor shows it twice', async () => {
  await store(...many(3));
  const feed = feedOn();
  const { cursor } = await readAll(feed);
  await sendAgain('n-00000');
  await readResends(feed);
  await sendAgain('n-00000', 'n-00002');
  const dying = feedOn({
    ...createFeedStore(bed.store),
    complete: () => Promise.reject(new Error('dead')),
  });
  await expect(readResends(dying)).rejects.toThrow('dead');
  await readAll(feed);
  const { seen } = await readResends(feed, { after: cursor });
  expect(seen.toSorted()).toEqual(['n-00000*2', 'n-00002*1']);
});

test('who begins with a time begins with the first event from then on, however many are before it', async () => {
  const feed = feedOn();
  // Given places a day at a time, in pages of up to 100; each day one is stored whose time is of the day before.
  for (let day = 0; day < 20; day++) {
    const ofDay = beganAtMs + day * dayMs;
    await store(...many(130, `day${day}`).map((one, i) => ({ ...one, createdAtMs: ofDay + i })), {
      _id: `late${day}`,
      createdAtMs: ofDay - dayMs / 2,
    });
    await readAll(feed);
    // A page with nothing but what is older than others before it.
    await store({ _id: `old${day}`, createdAtMs: ofDay - 2 * dayMs });
    await readAll(feed);
  }
  const { ids } = await readAll(feed, undefined, 1000);
  nowMs = beganAtMs + 20 * dayMs;
  const times = new Map((await deliveries.find({}).toArray()).map((one) => [one._id, one.createdAtMs]));
  const ofEvents = [98, 99, 100, 131, 1234].map((at) => times.get(ids[at] as string) ?? 0);
  for (const fromMs of [
    ...ofEvents,
    0,
    beganAtMs,
    beganAtMs + 3.2 * dayMs,
    beganAtMs + 7 * dayMs,
    beganAtMs + 19 * dayMs + 50,
  ]) {
    const { seen } = await readResends(feed, { fromMs, limit: 1000 });
    const wanted = ids.filter((id) => (times.get(id) ?? 0) >= fromMs);
    expect([fromMs, wanted.filter((id) => !seen.includes(id))]).toEqual([fromMs, []]);
    // Not more before than a page has.
    expect(seen.length - ids.length + ids.indexOf(wanted[0] as string)).toBeLessThan(100);
  }
  await store({ _id: 'unread', createdAtMs: beganAtMs });
  expect((await readResends(feed, { fromMs: nowMs })).seen).toEqual(['unread']);
});
