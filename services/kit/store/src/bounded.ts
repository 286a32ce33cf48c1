import { requireTime, timeLeft, untilDeadline } from '@headset-cloud/runtime/deadline.ts';
import type { Document } from 'mongodb';
import type { FindOptions } from './operations.ts';
import type { StoreCollection, StoreCursor } from './types.ts';

/**
 * Decorates a collection so that its operations end at the deadline of the current call (ADR 0022). At the deadline,
 * the server aborts an operation (`maxTimeMS`) and the caller stops waiting. No operation starts after the deadline.
 * Without a deadline, the operations are unchanged.
 */
export function bounded<T extends Document>(inner: StoreCollection<T>): StoreCollection<T> {
  return {
    collectionName: inner.collectionName,
    ...(inner.batchesAtOnce !== undefined && { batchesAtOnce: inner.batchesAtOnce }),
    findOne: (filter, options) => within((limit) => inner.findOne(filter, { ...options, ...limit })),
    find: (filter, options) =>
      boundedCursor((limit) => inner.find(filter, { ...options, ...limit }), options),
    countDocuments: (filter, options) =>
      within((limit) => inner.countDocuments(filter, { ...options, ...limit })),
    insertOne: (document) => within(() => inner.insertOne(document)),
    insertMany: (documents, options) =>
      within((limit) => inner.insertMany(documents, { ...options, ...limit })),
    updateOne: (filter, update, options) =>
      within((limit) => inner.updateOne(filter, update, { ...options, ...limit })),
    updateMany: (filter, update, options) =>
      within((limit) => inner.updateMany(filter, update, { ...options, ...limit })),
    findOneAndUpdate: (filter, update, options) =>
      within((limit) => inner.findOneAndUpdate(filter, update, { ...options, ...limit })),
    deleteOne: (filter) => within(() => inner.deleteOne(filter)),
    deleteMany: (filter) => within(() => inner.deleteMany(filter)),
    bulkWrite: (operations, options) =>
      within((limit) => inner.bulkWrite(operations, { ...options, ...limit })),
    createIndexes: (indexes) => inner.createIndexes(indexes),
  };
}

type Limit = { readonly maxTimeMS: number } | undefined;

function limitOf(left: number | undefined): Limit {
  return left === undefined ? undefined : { maxTimeMS: Math.max(1, Math.ceil(left)) };
}

/** Runs an operation until the deadline of the current call. */
async function within<R>(start: (limit: Limit) => Promise<R>): Promise<R> {
  requireTime();
  return untilDeadline(start(limitOf(timeLeft())));
}

/** Decorates a query in the same way. A query with its own `maxTimeMS` keeps it. */
function boundedCursor<R>(start: (limit: Limit) => StoreCursor<R>, options?: FindOptions): StoreCursor<R> {
  const open = () => {
    requireTime();
    return start(options?.maxTimeMS === undefined ? limitOf(timeLeft()) : undefined);
  };
  let cursor: StoreCursor<R> | undefined;
  return {
    async toArray() {
      cursor = open();
      return untilDeadline(cursor.toArray());
    },
    async close() {
      await cursor?.close();
    },
    async *[Symbol.asyncIterator]() {
      cursor = open();
      const items = cursor[Symbol.asyncIterator]();
      try {
        for (;;) {
          const next = await untilDeadline(Promise.resolve(items.next()));
          if (next.done) return;
          yield next.value;
        }
      } finally {
        await cursor.close();
      }
    },
  };
}
