import type { Clock } from '@headset-cloud/runtime/clock.ts';
import { isDuplicateKey } from '@headset-cloud/runtime/errors.ts';
import type { Store } from '@headset-cloud/store/types.ts';
import { deliveryOf } from '../domain/notice.ts';
import type { NoticeStore } from '../ports/notice-store.ts';
import { type DeliveryDocument, type Retention, toDocument } from './documents.ts';
import { deliveriesCollection, outagesCollection } from './indexes.ts';

/** An outage is deleted this long after its last failed attempt. */
const outageKeptMs = 30 * 24 * 3_600_000;
/** Limit of outages that are read. */
const mostOutages = 10_000;
/** Limit of pending deliveries that are counted. */
const mostWaiting = 10_000;

/** A setting whose endpoint accepts nothing. */
export interface OutageDocument {
  /** The lane: application and setting. */
  _id: string;
  sinceMs: number;
  expireAt: Date;
}

export function createNoticeStore(store: Store, { deliveredMs }: Retention, clock: Clock): NoticeStore {
  const deliveries = store.collection<DeliveryDocument>(deliveriesCollection);
  const outages = store.collection<OutageDocument>(outagesCollection);
  return {
    async insert(notice) {
      try {
        await deliveries.insertOne({
          ...toDocument(deliveryOf(notice)),
          ...(notice.names.length > 0 && { names: [...notice.names] }),
          ...(!notice.isSent && { expireAt: new Date(clock.now() + deliveredMs) }),
        });
        return true;
      } catch (error) {
        if (isDuplicateKey(error)) return false;
        throw error;
      }
    },
    waiting: (lane) => deliveries.countDocuments({ status: 'pending', lane }, { limit: mostWaiting }),
    async outages() {
      const found = await outages.find({}, { limit: mostOutages }).toArray();
      return found.map(({ _id, sinceMs }) => ({ lane: _id, sinceMs }));
    },
    countOutages: (beforeMs) => outages.countDocuments({ sinceMs: { $lte: beforeMs } }),
    async failed(lane, atMs) {
      const found = await outages.findOneAndUpdate(
        { _id: lane },
        { $setOnInsert: { sinceMs: atMs }, $set: { expireAt: new Date(clock.now() + outageKeptMs) } },
        { upsert: true, returnDocument: 'after' },
      );
      return { lane, sinceMs: found?.sinceMs ?? atMs };
    },
    async end({ lane, sinceMs }) {
      await outages.deleteOne({ _id: lane, sinceMs });
    },
    async *dead(fromMs, toMs) {
      const projection = { applicationId: 1, destination: 1, createdAtMs: 1, dueAtMs: 1 } as const;
      const filter = { status: 'dead', dueAtMs: { $gte: fromMs, $lt: toMs } } as const;
      for await (const { _id, ...one } of deliveries.find(filter, { sort: { dueAtMs: 1 }, projection })) {
        yield { id: _id, ...one };
      }
    },
  };
}
