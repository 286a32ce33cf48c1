import { isDuplicateKey } from '@headset-cloud/runtime/errors.ts';
import type { Filter } from '@headset-cloud/store/operations.ts';
import type { Store } from '@headset-cloud/store/types.ts';
import type { Delivery } from '../domain/delivery.ts';
import { ownPartition, positionOf, positionText } from '../domain/feed-position.ts';
import type { FeedKey, FeedPartition, FeedStore, UnplacedDelivery } from '../ports/feed-store.ts';
import { type DeliveryDocument, fromDocument } from './documents.ts';
import { deliveriesCollection, feedPartitionsCollection, feedsCollection } from './indexes.ts';

export interface FeedPartitionDocument extends Omit<FeedPartition, 'partition'> {
  /** The partition. */
  _id: number;
}

/** State of an application's own stream (feed/own-stream.ts). */
export interface FeedDocument {
  /** The application. */
  _id: string;
  /** All numbers up to this one are assigned. */
  last: number;
  list?: { from: number; atMs: number; entries: UnplacedDelivery[] };
}

/** Positions of deliveries in feeds, in the database of the deliveries (ADR 0053). */
export function createFeedStore(store: Store): FeedStore {
  // 'in-order' is sufficient: the next write of deliveries makes these writes durable, too (ADR 0012), and offsets are
  // committed only after the deliveries are durable.
  const partitions = store.collection<FeedPartitionDocument>(feedPartitionsCollection, {
    settle: 'in-order',
  });
  const feeds = store.collection<FeedDocument>(feedsCollection);
  const deliveries = store.collection<DeliveryDocument>(deliveriesCollection);

  return {
    async partitions() {
      return (await partitions.find({}).toArray()).map(toPartition);
    },
    async addPartition({ partition, epoch, offset }) {
      await insertOnce(partitions.insertOne({ _id: partition, epoch, offset }));
    },
    async advance({ partition, epoch, offset }) {
      const withLowerOffset = { _id: partition, epoch, offset: { $lt: offset } };
      await partitions.updateOne(withLowerOffset, { $set: { offset } });
      const found = await partitions.findOne({ _id: partition });
      if (!found) throw new Error(`partition ${partition} of the feed is missing`);
      return toPartition(found);
    },
    async renew({ partition, epoch }, next) {
      await partitions.updateOne({ _id: partition, epoch }, { $set: { epoch: next, offset: 0 } });
    },
    async keys({ applicationId, field, after, before, limit, newestFirst = false }) {
      const found = await deliveries
        .find({ applicationId, [field]: { $gt: after, $lt: before } } as Filter<DeliveryDocument>, {
          ...{ sort: { [field]: newestFirst ? -1 : 1 }, limit },
          projection: { position: 1, again: 1, againResends: 1, createdAtMs: 1 },
        })
        .toArray();
      return found.map((one) => toKey(one, field));
    },
    async deliveries(ids) {
      if (ids.length === 0) return new Map();
      const found = await deliveries.find({ _id: { $in: [...ids] } }).toArray();
      return new Map(found.map((document): [string, Delivery] => [document._id, fromDocument(document)]));
    },
    async ownStream(applicationId) {
      const found = await feeds.findOne({ _id: applicationId });
      return { last: found?.last ?? 0, list: found?.list };
    },
    async unplaced(applicationId, limit) {
      const found = await deliveries
        .find(
          { applicationId, unplaced: true },
          { sort: { unplacedAtMs: 1 }, limit, projection: { position: 1, resends: 1 } },
        )
        .toArray();
      return found.map(({ _id, position, resends = 0 }) => {
        return { id: _id, resends, isAgain: position !== undefined };
      });
    },
    async storeList(applicationId, last, { from, atMs, entries }) {
      if (last === 0) await insertOnce(feeds.insertOne({ _id: applicationId, last }));
      await feeds.updateOne(
        { _id: applicationId, last, list: { $exists: false } },
        { $set: { list: { from, atMs, entries: [...entries] } } },
      );
    },
    async assignPositions(applicationId, { from, atMs, entries }) {
      await deliveries.bulkWrite(
        entries.map(({ id, resends, isAgain }, i) => {
          const text = positionText({ partition: ownPartition, epoch: 0, offset: from + i, atMs });
          return {
            updateOne: {
              filter: { _id: id, unplaced: true, resends: resends || { $exists: false } },
              update: {
                $set: isAgain ? { again: text, againResends: resends } : { position: text },
                $unset: { unplaced: '', unplacedAtMs: '' },
              },
            },
          };
        }),
        { ordered: false },
      );
      await feeds.updateOne({ _id: applicationId, 'list.from': from } as Filter<FeedDocument>, {
        $set: { last: from + entries.length - 1 },
        $unset: { list: '' },
      });
    },
  };
}

async function insertOnce(insert: Promise<unknown>): Promise<void> {
  try {
    await insert;
  } catch (error) {
    if (!isDuplicateKey(error)) throw error;
  }
}

function toPartition({ _id, epoch, offset }: FeedPartitionDocument): FeedPartition {
  return { partition: _id, epoch, offset };
}

function toKey(
  { _id, position = '', again = '', againResends = 0, createdAtMs }: DeliveryDocument,
  field: 'position' | 'again',
): FeedKey {
  if (field === 'position') return { id: _id, position, resends: 0, timeMs: createdAtMs };
  return { id: _id, position: again, resends: againResends, timeMs: positionOf(again).atMs };
}
