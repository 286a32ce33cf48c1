import { openTestBed, type TestBed } from '@headset-cloud/embedded/testing/bed.ts';
import type { Store, StoreCollection } from '@headset-cloud/kit/store/types.ts';
import { Feed } from '../feed/feed.ts';
import type { FeedAnswer } from '../feed/reading.ts';
import type { FeedStore } from '../ports.ts';
import type { DeliveryDocument } from '../store/documents.ts';
import { createFeedStore, type FeedPageDocument } from '../store/feed.ts';
import {
  deliveriesCollection,
  feedIndexes,
  feedPagesCollection,
  notifierIndexes,
  resendIndexes,
} from '../store/indexes.ts';

export const dayMs = 86_400_000;
/** For how long feeds of tests keep deliveries. */
export const keptMs = 30 * dayMs;
/** For how long they may be open. */
export const openMs = 2 * dayMs;

/** What a test says of a delivery. */
export type Given = Partial<DeliveryDocument> & { readonly _id: string };

/** An id, so that ids sort as their numbers do. */
export const numbered = (name: string, i: number) => `${name}-${String(i).padStart(5, '0')}`;

/** A store with the indexes of the feed; nothing is removed by itself. */
export async function openFeedBed(): Promise<{
  readonly bed: TestBed;
  readonly deliveries: StoreCollection<DeliveryDocument>;
}> {
  const bed = openTestBed('notifier', { onMongo: true });
  const deliveries = bed.store.collection<DeliveryDocument>(deliveriesCollection);
  await deliveries.createIndexes([
    ...(notifierIndexes[deliveriesCollection] ?? []).filter(({ name }) => name !== 'expire'),
    ...(feedIndexes[deliveriesCollection] ?? []),
    ...(resendIndexes[deliveriesCollection] ?? []),
  ]);
  return { bed, deliveries };
}

/** The store of who forgets, stopped before it removes deliveries: `meanwhile` runs then, each time. */
export function stoppedBeforeRemoval(store: Store, meanwhile: () => Promise<unknown>): Store {
  const collection = (of: string, ...rest: never[]) => {
    const real = store.collection(of, ...rest);
    if (of !== deliveriesCollection) return real;
    return new Proxy(real, {
      get(target, key) {
        const value = Reflect.get(target, key);
        if (key !== 'bulkWrite') return typeof value === 'function' ? value.bind(target) : value;
        return async (...args: [never]) => {
          await meanwhile();
          return target.bulkWrite(...args);
        };
      },
    });
  };
  return { ...store, collection: collection as never };
}

/** A delivery that waits, created at `nowMs`, unless said otherwise. */
export function eventDocument({ _id, ...more }: Given, nowMs: number): DeliveryDocument {
  return {
    ...{ _id, applicationId: 'app', destination: 'deviceEvent', orderKey: '', sequence: 0, order: 'none' },
    ...{ after: null, replaceable: false, status: 'pending', attempts: 0 },
    ...{ body: Buffer.from(JSON.stringify({ operationId: 'notify-boot', deviceId: '350000000000001' })) },
    ...{ createdAtMs: nowMs, budgetFromMs: 1, nextAttemptAtMs: 1, dueAtMs: 1, owner: null, takenOver: false },
    ...{ deliveredAtMs: 0, lastOutcome: '', recentAttempts: [], traceparent: '', lane: 'app/deviceEvent' },
    ...{ unplaced: true, ...more },
  } as DeliveryDocument;
}

/** What tests of the feed change while they run. */
export interface FeedBench {
  readonly bed: () => TestBed;
  readonly nowMs: () => number;
  /** By the monotonic clock. */
  readonly spentMs: () => number;
  readonly longestMs: number;
}

/** More than where, and how much, a reader begins. */
export interface ReadMore {
  readonly fromMs?: number;
  readonly withResends?: boolean;
}

/** What tests of the feed's promises do: as a notifier, as MongoDB, and as readers of all events. */
export function feedTools({ bed, nowMs, spentMs, longestMs }: FeedBench) {
  const deliveries = () => bed().store.collection<DeliveryDocument>(deliveriesCollection);
  const idsOf = ({ events }: FeedAnswer) => events.map(({ delivery }) => delivery.id);
  const read = (feed: Feed, after?: string, limit = 100, more: ReadMore = {}) =>
    feed.read({ applicationId: 'app', after, limit, filter: { types: [], deviceId: '' }, ...more });
  return {
    feedOn(store: FeedStore = createFeedStore(bed().store)) {
      return new Feed({ store, clock: { now: nowMs, monotonicNow: spentMs }, keptMs, longestMs, openMs });
    },
    store: (...given: Given[]) => deliveries().insertMany(given.map((one) => eventDocument(one, nowMs()))),
    /** One that was delivered the moment it was created. */
    ended: (_id: string, atMs = nowMs(), forMs = keptMs): Given => ({
      ...{ _id, status: 'delivered', createdAtMs: atMs, expireAt: new Date(atMs + forMs) },
    }),
    /** What MongoDB does each minute. */
    async retention() {
      const gone = { expireAt: { $lte: new Date(nowMs()) } };
      await deliveries().deleteMany(gone);
      await bed().store.collection<FeedPageDocument>(feedPagesCollection).deleteMany(gone);
    },
    idsOf,
    read,
    /** All that a reader gets who reads on until nothing is left. */
    async readAll(feed: Feed, after?: string, limit = 100, more: ReadMore = {}) {
      const ids: string[] = [];
      for (let cursor = after; ; ) {
        const answer = await read(feed, cursor, limit, more);
        ids.push(...idsOf(answer));
        cursor = answer.cursor;
        if (!answer.more) return { ids, cursor };
      }
    },
  };
}
