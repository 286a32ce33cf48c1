import type { TestBed } from '@headset-cloud/embedded/testing/bed.ts';
import type { LogEvent } from '@headset-cloud/eventlog/types.ts';
import type { StoreCollection } from '@headset-cloud/store/types.ts';
import type { FeedStore } from '../ports/feed-store.ts';
import { sentAgain } from '../store/deliveries.ts';
import type { DeliveryDocument } from '../store/documents.ts';
import { createFeedStore } from '../store/feed.ts';
import { createForgetStore } from '../store/forget.ts';
import { eventDocument, type Given, openFeedBed } from '../testing/feed-bed.ts';
import { Feed, type FeedRequest } from './feed.ts';
import { LogPositions } from './log-positions.ts';

const minuteMs = 60_000;
const dayMs = 24 * 60 * minuteMs;
const keptMs = 30 * dayMs;

let bed: TestBed;
let deliveries: StoreCollection<DeliveryDocument>;
let nowMs: number;
let committed: Map<number, number>;
let positions: LogPositions;
let feed: Feed;
/** Monotonic clock that advances by one second per call. */
let spentMs = 0;
const clock = {
  now: () => nowMs,
  monotonicNow: () => {
    spentMs += 1000;
    return spentMs;
  },
};

const feedOn = (store: FeedStore = createFeedStore(bed.store)) =>
  new Feed({ store, committed: async () => new Map(committed), clock, keptMs });
const positionsOf = () =>
  new LogPositions({ store: createFeedStore(bed.store), committed: async () => new Map(committed), clock });

beforeEach(async () => {
  ({ bed, deliveries } = await openFeedBed());
  nowMs = Date.UTC(2026, 0, 1);
  committed = new Map();
  positions = positionsOf();
  feed = feedOn();
});
afterEach(() => bed.remove());

/** An event of the log, whose value is the delivery's id. */
const event = (partition: number, offset: number, id = `n-${partition}-${offset}`) =>
  ({ position: `${partition}:${offset}`, value: Buffer.from(id) }) as unknown as LogEvent;
const idOf = ({ value }: LogEvent) => Buffer.from(value).toString();
const events = (partition: number, count: number, from = 0) =>
  Array.from({ length: count }, (_, i) => event(partition, from + i));

/** The documents that the consumer creates for a batch. */
async function documents(batch: readonly LogEvent[], more: Partial<Given> = {}, by = positions) {
  const positionOf = await by.of(batch);
  return batch.map((one) => {
    const position = positionOf(one);
    const mark = position ? { position } : { unplaced: true as const, unplacedAtMs: nowMs };
    return eventDocument({ _id: idOf(one), ...mark, ...more }, nowMs);
  });
}
const store = async (batch: readonly LogEvent[], more: Partial<Given> = {}, by = positions) => {
  const known = await deliveries.find({ _id: { $in: batch.map(idOf) } }).toArray();
  const ids = new Set(known.map(({ _id }) => _id));
  const fresh = (await documents(batch, more, by)).filter(({ _id }) => !ids.has(_id));
  if (fresh.length > 0) await deliveries.insertMany(fresh);
};
const commit = (partition: number, offset: number) => committed.set(partition, offset);
const handle = async (batch: readonly LogEvent[], more: Partial<Given> = {}) => {
  await store(batch, more);
  const [partition = 0, offset = 0] = batch.at(-1)?.position.split(':').map(Number) ?? [];
  commit(partition, offset + 1);
};
/** A notice, or another delivery without an event in the log. */
const notice = (id: string, more: Partial<Given> = {}) =>
  deliveries.insertOne(eventDocument({ _id: id, unplaced: true, unplacedAtMs: nowMs, ...more }, nowMs));
const sendAgain = (id: string) => deliveries.updateMany({ _id: id }, sentAgain(nowMs));

const read = (more: Partial<FeedRequest> = {}, by = feed) =>
  by.read({
    ...{ applicationId: 'app', after: undefined, limit: 100, filter: { types: [], deviceId: '' } },
    ...more,
  });
const readAll = async (more: Partial<FeedRequest> = {}, by = feed) => {
  const ids: string[] = [];
  for (let after = more.after; ; ) {
    const answer = await read({ ...more, after }, by);
    ids.push(...answer.events.map(({ delivery, resends }) => delivery.id + (resends ? `+${resends}` : '')));
    after = answer.cursor;
    if (!answer.more) return { ids, cursor: answer.cursor };
  }
};
const names = (batch: readonly LogEvent[]) => batch.map(idOf);

test('a page ends before uncommitted events: an event that is stored later is never before an event that was read', async () => {
  const [first, second, third] = events(0, 3);
  await store([third, first] as LogEvent[]);
  const begun = await readAll();
  expect(begun.ids).toEqual([]);
  commit(0, 1);
  const one = await readAll({ after: begun.cursor });
  expect(one.ids).toEqual(names([first] as LogEvent[]));
  await store([second] as LogEvent[]);
  commit(0, 3);
  expect((await readAll({ after: one.cursor })).ids).toEqual(names([second, third] as LogEvent[]));
});

test('partitions are merged by creation, each in its own order, whatever the limit; partitions that are added later are read from their start', async () => {
  for (let i = 0; i < 30; i++) {
    nowMs += 1000;
    await handle([event(i % 3, Math.floor(i / 3), `n-${String(i).padStart(2, '0')}`)]);
  }
  const all = await readAll();
  expect(all.ids).toEqual(all.ids.toSorted());
  expect(all.ids).toHaveLength(30);
  for (const limit of [1, 4, 29, 30, 31]) expect((await readAll({ limit })).ids).toEqual(all.ids);
  await handle(events(7, 2));
  expect((await readAll({ after: all.cursor })).ids).toEqual(['n-7-0', 'n-7-1']);
});

test('a recreated topic gets a higher epoch: its events come after all earlier cursors', async () => {
  await handle(events(0, 50));
  const { cursor } = await readAll({ limit: 7 });
  const half = await read({ limit: 20 });
  const again = Array.from({ length: 5 }, (_, i) => event(0, i, `again-${i}`));
  committed.clear();
  await store(again.slice(0, 2), {}, positionsOf());
  // Not committed yet.
  expect((await readAll({ after: cursor })).ids).toEqual([]);
  expect((await readAll({ after: half.cursor })).ids).toHaveLength(30);
  await handle(again);
  expect((await readAll({ after: cursor })).ids).toEqual(names(again));
  expect((await readAll({ after: half.cursor })).ids).toEqual([...names(events(0, 30, 20)), ...names(again)]);
  expect((await readAll()).ids).toEqual([...names(events(0, 50)), ...names(again)]);
});

test('the events of a topic that was recreated before the first read are all in the feed', async () => {
  await handle(events(0, 5));
  committed.clear();
  const again = Array.from({ length: 9 }, (_, i) => event(0, i, `again-${i}`));
  nowMs += 1;
  positions = positionsOf();
  await handle(again);
  const { ids } = await readAll({ limit: 2 });
  expect(ids.toSorted()).toEqual([...names(again), ...names(events(0, 5))].toSorted());
});

test('a member that has lost its partition starts no epoch, and events that only it stores come after every cursor', async () => {
  const frozen = positionsOf();
  await handle(events(0, 10));
  const { cursor } = await readAll();
  const [{ epoch } = { epoch: 0 }] = await createFeedStore(bed.store).partitions();
  const batch = [event(0, 8, 'lost'), event(0, 9), event(0, 10)];
  await store(batch, {}, frozen);
  expect(await createFeedStore(bed.store).partitions()).toEqual([{ partition: 0, epoch, offset: 10 }]);
  await handle([event(0, 10), event(0, 11)]);
  expect((await readAll({ after: cursor })).ids.toSorted()).toEqual(['lost', 'n-0-10', 'n-0-11']);
});

test('a replayed dead letter comes after every cursor', async () => {
  await handle(events(0, 3));
  const { cursor } = await readAll();
  await store([{ ...event(0, 1, 'letter'), replayed: true }]);
  expect((await readAll({ after: cursor })).ids).toEqual(['letter']);
  await handle(events(0, 1, 3));
  expect((await readAll({ after: cursor })).ids.toSorted()).toEqual(['letter', 'n-0-3']);
});

test('a resent callback appears again only for readers with resends, each time, also with the same cursor', async () => {
  await handle(events(0, 3));
  const { cursor } = await readAll();
  await sendAgain('n-0-1');
  expect((await readAll({ after: cursor, withResends: true })).ids).toEqual(['n-0-1+1']);
  await sendAgain('n-0-1');
  await notice('notice');
  const again = await readAll({ after: cursor, withResends: true });
  expect(again.ids.toSorted()).toEqual(['n-0-1+2', 'notice']);
  expect((await readAll({ after: again.cursor, withResends: true })).ids).toEqual([]);
  const without = await readAll({ after: cursor });
  expect(without.ids).toEqual(['notice']);
  expect((await readAll({ after: without.cursor, withResends: true })).ids).toEqual([]);
  await sendAgain('n-0-2');
  const passed = await readAll({ after: without.cursor });
  expect(passed.ids).toEqual([]);
  expect((await readAll({ after: passed.cursor, withResends: true })).ids).toEqual([]);
  await sendAgain('notice');
  expect((await readAll({ after: passed.cursor, withResends: true })).ids).toEqual(['notice+1']);
});

describe('a reader that dies or is frozen while it assigns positions', () => {
  /** The real store, with a hook before a list is completed. */
  const stopped = (before: (assign: () => Promise<void>) => Promise<void>): FeedStore => {
    const real = createFeedStore(bed.store);
    return { ...real, assignPositions: (id, list) => before(() => real.assignPositions(id, list)) };
  };
  const dying = () => feedOn(stopped(() => Promise.reject(new Error('dead'))));

  test('another reader completes its work', async () => {
    for (let i = 0; i < 5; i++) await notice(`n-${i}`, { unplacedAtMs: nowMs + i });
    await expect(readAll({}, dying())).rejects.toThrow('dead');
    await notice('later');
    expect((await readAll()).ids).toEqual(['n-0', 'n-1', 'n-2', 'n-3', 'n-4', 'later']);
  });

  test('a frozen reader changes nothing when it continues', async () => {
    await notice('a');
    let resume: (() => Promise<void>) | undefined;
    const frozen = feedOn(
      stopped((assign) => {
        resume = assign;
        return Promise.reject(new Error('frozen'));
      }),
    );
    await expect(readAll({}, frozen)).rejects.toThrow('frozen');
    const { cursor } = await readAll();
    await sendAgain('a');
    await notice('b');
    await resume?.();
    const next = await readAll({ after: cursor, withResends: true });
    expect(next.ids.toSorted()).toEqual(['a+1', 'b']);
    await resume?.();
    expect((await readAll({ withResends: true })).ids).toEqual(['a', ...next.ids]);
  });

  test('a reader that is frozen before it stores its list stores none when it continues', async () => {
    await notice('a');
    const real = createFeedStore(bed.store);
    let cursor = '';
    const frozen = feedOn({
      ...real,
      async storeList(...args) {
        if (cursor === '') {
          await readAll();
          await notice('b');
          ({ cursor } = await readAll());
        }
        await real.storeList(...args);
      },
    });
    expect((await readAll({}, frozen)).ids).toEqual(['a', 'b']);
    await notice('c');
    expect((await readAll({ after: cursor })).ids).toEqual(['c']);
  });

  test('a forgotten device is in no list', async () => {
    const device = '350000000000001';
    await notice(`device-${device}-1`, { status: 'delivered' });
    await notice('other');
    await expect(readAll({}, dying())).rejects.toThrow('dead');
    expect(await createForgetStore(bed.store).reported(device, false)).toMatchObject({ removed: 1, left: 0 });
    const feeds = await bed.store.collection('feeds').find({}).toArray();
    expect(JSON.stringify(feeds)).not.toContain(device);
    expect((await readAll()).ids).toEqual(['other']);
  });
});

test('many deliveries without positions get them over several requests, each once', async () => {
  const many = Array.from({ length: 2600 }, (_, i) => `n-${String(i).padStart(4, '0')}`);
  await deliveries.insertMany(
    many.map((_id, i) => eventDocument({ _id, unplaced: true, unplacedAtMs: nowMs + i }, nowMs)),
  );
  expect((await readAll({ limit: 1000 })).ids).toEqual(many);
});

describe('a reader that starts at a time', () => {
  test('gets all events that were created at that time or later, and few earlier ones, also with several epochs and clock steps back', async () => {
    const began = nowMs;
    const ids: { id: string; atMs: number }[] = [];
    for (let epoch = 0; epoch < 3; epoch++) {
      positions = positionsOf();
      committed.clear();
      for (let i = 0; i < 60; i++) {
        nowMs += minuteMs;
        const id = `n-${epoch}-${i}`;
        // Published late, by an instance with a slow clock, or at once.
        const createdAtMs = nowMs - (i % 7 === 3 ? 40 * minuteMs : 0);
        await handle([event(i % 2, Math.floor(i / 2), id)], { createdAtMs });
        if (i % 10 === 0) await readAll();
        ids.push({ id, atMs: createdAtMs });
      }
    }
    for (let fromMs = began; fromMs < nowMs; fromMs += 11 * minuteMs) {
      const got = new Set((await readAll({ fromMs })).ids);
      const wanted = ids.filter(({ atMs }) => atMs >= fromMs).map(({ id }) => id);
      expect(wanted.filter((id) => !got.has(id))).toEqual([]);
      expect(got.size - wanted.length).toBeLessThan(20);
    }
  });

  test('in the future gets new events', async () => {
    await handle(events(0, 5));
    await notice('notice');
    await sendAgain('n-0-1');
    const end = await read({ fromMs: Date.UTC(9999, 0, 1), withResends: true });
    expect([end.events, end.more]).toEqual([[], false]);
    await handle(events(0, 1, 5));
    expect((await readAll({ after: end.cursor, withResends: true })).ids).toEqual(['n-0-5']);
  });
});

describe('a cursor', () => {
  const invalid = (message: RegExp) => ({
    code: 'invalid_argument',
    message: expect.stringMatching(message),
  });

  test('is valid for 30 days minus six hours after its reader was at the end, and polling renews it', async () => {
    await handle(events(0, 2));
    let { cursor } = await readAll();
    for (let i = 0; i < 3; i++) {
      nowMs += keptMs - 7 * 60 * minuteMs;
      ({ cursor } = await readAll({ after: cursor }));
    }
    const half = await read({ limit: 1 });
    nowMs += keptMs - 5 * 60 * minuteMs;
    await expect(read({ after: cursor })).rejects.toMatchObject(invalid(/expired.*Read without after/));
    await expect(read({ after: half.cursor })).rejects.toMatchObject(invalid(/expired/));
    expect((await readAll()).ids).toHaveLength(2);
  });

  test('of another application, of other filters, or changed in any character is rejected', async () => {
    await handle(events(0, 1));
    const { cursor: after } = await readAll();
    await expect(read({ after, applicationId: 'other' })).rejects.toMatchObject(
      invalid(/another application/),
    );
    await expect(read({ after, filter: { types: ['notify-boot'], deviceId: '' } })).rejects.toMatchObject(
      invalid(/other filters/),
    );
    for (let i = 0; i < after.length; i++) {
      const changed = after.slice(0, i) + (after[i] === 'x' ? 'y' : 'x') + after.slice(i + 1);
      await expect(read({ after: changed })).rejects.toMatchObject({ code: 'invalid_argument' });
    }
  });
});

test('a filter reads 1,000 events per request and continues after them; large bodies end a page', async () => {
  const other = Buffer.from(JSON.stringify({ operationId: 'notify-volume' }));
  await handle(events(0, 2500), { body: other });
  await handle(events(0, 1, 2500));
  const filter = { types: ['notify-boot'], deviceId: '' };
  const first = await read({ filter });
  expect([first.events, first.more]).toEqual([[], true]);
  expect((await readAll({ filter })).ids).toEqual(['n-0-2500']);
  await handle(events(1, 5), { body: Buffer.alloc(600_000, ' ') });
  const page = await read({ after: (await readAll({ limit: 1000 })).cursor, limit: 10 });
  expect(page.events.length).toBeLessThanOrEqual(5);
});

test('a page beside events of other applications reads only its own', async () => {
  await handle(events(0, 3000), { applicationId: 'other', lane: 'other/deviceEvent' });
  await handle(events(0, 10, 3000));
  const before = bed.documentsExamined();
  expect((await readAll()).ids).toHaveLength(10);
  // Documents are not counted on MongoDB.
  expect(bed.documentsExamined() - before).toBeLessThan(100);
});

test.each([1, 2, 3, 4])(
  'for any order of storing, committing, resending and reading: each event once, each partition in order (%d)',
  async (seed) => {
    let state = seed * 7919;
    const random = (below: number) => {
      state = (state * 1103515245 + 12345) % 2147483648;
      return Math.floor((state / 2147483648) * below);
    };
    const [partitions, steps] = [3, 150];
    const next = Array.from({ length: partitions }, () => 0);
    const open = Array.from({ length: partitions }, (): LogEvent[] => []);
    let others = 0;
    const readers = [false, true, false].map((withResends) => ({
      ...{ withResends, after: undefined as string | undefined, ids: [] as string[] },
      by: feedOn(),
    }));
    const failing = feedOn({
      ...createFeedStore(bed.store),
      assignPositions: () => Promise.reject(new Error('dead')),
    });
    const continueWith = async (reader: (typeof readers)[number], limit: number) => {
      const { withResends, after, by } = reader;
      const answer = await read({ withResends, after, limit }, by);
      reader.after = answer.cursor;
      for (const { delivery, resends } of answer.events)
        reader.ids.push(delivery.id + (resends ? `+${resends}` : ''));
      return answer.more;
    };
    const settle = async (partition: number) => {
      // In random order, because writes complete in any order.
      const those = open[partition] as LogEvent[];
      const stored = await documents(those);
      const known = new Set((await deliveries.find({}).toArray()).map(({ _id }) => _id));
      const fresh = stored.filter(({ _id }) => !known.has(_id)).sort(() => random(3) - 1);
      for (const one of fresh) {
        await deliveries.insertOne(one);
        if (random(4) === 0)
          await continueWith(readers[random(3)] as (typeof readers)[number], 1 + random(5));
      }
      open[partition] = [];
      commit(partition, next[partition] as number);
    };
    for (let step = 0; step < steps; step++) {
      nowMs += random(5000) - 1000;
      const partition = random(partitions);
      switch (random(6)) {
        case 0:
        case 1: {
          const batch = events(partition, 1 + random(6), next[partition]);
          next[partition] = (next[partition] as number) + batch.length;
          open[partition]?.push(...batch);
          break;
        }
        case 2:
          await settle(partition);
          break;
        case 3:
          if (random(2) === 0) await notice(`own-${others++}`);
          else await sendAgain(`n-${partition}-${random((next[partition] as number) + 1)}`);
          break;
        case 4:
          await read({ limit: 3 }, failing).catch(() => {});
          break;
        default:
          await Promise.all(readers.map((reader) => continueWith(reader, 1 + random(10))));
      }
    }
    for (let partition = 0; partition < partitions; partition++) await settle(partition);
    const all = (await deliveries.find({}).toArray()).map(({ _id }) => _id);
    for (const reader of readers) {
      while (await continueWith(reader, 1 + random(20))) {}
      const first = reader.ids.filter((id) => !id.includes('+'));
      expect(first.toSorted()).toEqual(all.toSorted());
      expect(new Set(reader.ids).size).toBe(reader.ids.length);
      for (let partition = 0; partition < partitions; partition++) {
        const own = first.filter((id) => id.startsWith(`n-${partition}-`));
        expect(own).toEqual(names(events(partition, next[partition] as number)));
      }
    }
    const resent = await deliveries.find({ resends: { $exists: true } }).toArray();
    const seen = new Set(readers[1]?.ids);
    expect(
      resent.filter(({ _id, resends }) => _id.startsWith('n-') && !seen.has(`${_id}+${resends}`)),
    ).toEqual([]);
  },
);
