/** A reader of which each write of the database fails once: not done, half done, or done and not told (ADR 0053). */
import type { TestBed } from '@headset-cloud/embedded/testing/bed.ts';
import type { StoreCollection } from '@headset-cloud/kit/store/types.ts';
import type { FeedStore } from '../ports.ts';
import { sentAgain } from '../store/deliveries.ts';
import type { DeliveryDocument } from '../store/documents.ts';
import { createFeedStore, type FeedPageDocument } from '../store/feed.ts';
import { feedPagesCollection } from '../store/indexes.ts';
import { eventDocument, type Given, keptMs, openFeedBed, openMs } from '../testing/feed-bed.ts';
import { Feed } from './feed.ts';

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

/** The store of a reader that dies at its write `fatal`; a half one stops in the middle of many documents. */
function dyingStore(fatal: number, how: 'before' | 'half' | 'after') {
  let writes = 0;
  const dies = async (args: unknown[], write: (args: unknown[]) => Promise<unknown>) => {
    if (++writes < fatal) return write(args);
    if (writes > fatal) throw new Error('dead');
    if (how === 'after') await write(args);
    if (how === 'half') {
      const [filter, ...more] = args as [{ _id?: { $in?: string[] } } | unknown[], ...unknown[]];
      const some = Array.isArray(filter) ? undefined : filter._id?.$in;
      if (Array.isArray(filter) && filter.length > 1)
        await write([filter.slice(0, filter.length / 2), ...more]);
      else if (some) {
        const half = some.toSorted().slice(0, some.length / 2);
        await write([{ ...filter, _id: { $in: half } }, ...more]);
      }
    }
    throw new Error('dead');
  };
  const writing = ['insertOne', 'updateOne', 'updateMany', 'bulkWrite'];
  const store = new Proxy(bed.store, {
    get(target, name) {
      if (name !== 'collection') return Reflect.get(target, name, target);
      return (...asked: [string]) => {
        const real = target.collection(...asked);
        return new Proxy(real, {
          get(collection, method) {
            const value = Reflect.get(collection, method, collection);
            if (typeof value !== 'function') return value;
            const call = (args: unknown[]) => value.apply(collection, args);
            return writing.includes(String(method))
              ? (...args: unknown[]) => dies(args, call)
              : (...args: unknown[]) => call(args);
          },
        });
      };
    },
  });
  return { store: createFeedStore(store), writes: () => writes };
}

async function all(feed: Feed, after?: string) {
  const seen: string[] = [];
  for (let cursor = after; ; ) {
    const answer = await feed.read({
      ...{ applicationId: 'app', after: cursor, limit: 30, filter: { types: [], deviceId: '' } },
      withResends: true,
    });
    seen.push(...answer.events.map(({ delivery, resends }) => `${delivery.id}${resends ? '*' : ''}`));
    cursor = answer.cursor;
    if (!answer.more) return { seen, cursor };
  }
}

test('a reader that dies at any of its writes leaves nothing twice, nothing out and nothing in another order', async () => {
  let isDone = false;
  for (let fatal = 1; !isDone; fatal++) {
    for (const how of ['before', 'half', 'after'] as const) {
      await bed.store.collection('feeds').deleteMany({});
      await bed.store.collection(feedPagesCollection).deleteMany({});
      await deliveries.deleteMany({});
      const early = Array.from({ length: 20 }, (_, i) => `a-${String(i).padStart(3, '0')}`);
      await store(...early.map((_id, i) => ({ _id, createdAtMs: nowMs + i })));
      const before = await all(feedOn());
      await deliveries.updateMany({ _id: { $in: early.slice(0, 10) } }, sentAgain(nowMs));
      await all(feedOn());
      await deliveries.updateMany({ _id: { $in: early.slice(5, 15) } }, sentAgain(nowMs + 1));
      const of = (n: number, more: Partial<DeliveryDocument> = {}): Given => ({
        _id: `tx-1-${n}`,
        ...{ orderKey: 'tx-1', order: 'ended', sequence: n, ...more },
      });
      const fresh = Array.from({ length: 210 }, (_, i) => `n-${String(i).padStart(3, '0')}`);
      await store(...fresh.map((_id, i) => ({ _id, createdAtMs: nowMs + 100 + i })), of(1), of(2), of(5));
      const dying = dyingStore(fatal, how);
      isDone = await all(feedOn(dying.store), before.cursor).then(
        () => true,
        (error) => {
          if ((error as Error).message !== 'dead') throw error;
          return false;
        },
      );
      await store(of(3, { replaceable: true, status: 'replaced', createdAtMs: nowMs - 1 }), of(6), {
        _id: 'last',
      });
      const second = dyingStore(fatal, how);
      await all(feedOn(second.store), before.cursor).catch(() => undefined);
      const anyway = await all(feedOn(), before.cursor);
      const { seen } = await all(feedOn(), before.cursor);
      const sorts = (ids: string[]) => ids.filter((id) => !id.endsWith('*'));
      expect(sorts(anyway.seen)).toEqual(sorts(seen));
      const anew = (await all(feedOn())).seen;
      const firsts = seen.filter((id) => !id.endsWith('*'));
      const label = `${how} ${fatal}`;
      expect([label, anew.filter((id) => !id.endsWith('*'))]).toEqual([label, [...early, ...firsts]]);
      expect([label, firsts.filter((id) => id !== 'tx-1-3').toSorted()]).toEqual([
        label,
        [...fresh, 'tx-1-1', 'tx-1-2', 'tx-1-5', 'tx-1-6', 'last'].toSorted(),
      ]);
      const its = firsts.filter((id) => id.startsWith('tx-'));
      expect([label, its]).toEqual([label, its.toSorted()]);
      const again = seen.filter((id) => id.endsWith('*'));
      expect([label, again.toSorted()]).toEqual([label, early.slice(0, 15).map((id) => `${id}*`)]);
      const pages = await bed.store.collection<FeedPageDocument>(feedPagesCollection).find({}).toArray();
      for (const one of await deliveries.find({}).toArray()) {
        if (one.unplaced || one.resent) throw new Error(`${label}: ${one._id} waits`);
        const on = pages.filter(({ ids }) => ids.includes(one._id)).map(({ _id }) => Number(_id.slice(-15)));
        const noted = [one.page, one.resendPage].filter((number) => number !== undefined);
        expect([label, one._id, on.sort()]).toEqual([label, one._id, noted.sort()]);
      }
    }
  }
}, 200_000);
