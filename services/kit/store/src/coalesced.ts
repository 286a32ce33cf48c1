import { randomUUID } from 'node:crypto';
import { type BatchLimits, coalesce, type ItemOutcome } from '@headset-cloud/runtime/batching/coalesce.ts';
import type { Document, WithId } from 'mongodb';
import type { Filter, FindOptions, Update } from './operations.ts';
import type { StoreCollection } from './types.ts';

/** Time after which a command may hang, so that the next command starts concurrently; milliseconds. */
const concurrentAfterMs = 50;

/** Returns the limits of batches for a store: few and large batches if each is a network round trip. */
export const batchLimits = ({
  batchesAtOnce,
}: Pick<StoreCollection<Document>, 'batchesAtOnce'>): BatchLimits => ({
  maxItems: 200,
  ...(batchesAtOnce === undefined ? { maxRunning: 2, concurrentAfterMs } : { maxRunning: batchesAtOnce }),
});

/**
 * Batches concurrent point reads by _id. Nothing is cached: a read always begins after it was requested.
 */
export function coalescedReader<T extends Document & { _id: string }>(
  collection: StoreCollection<T>,
  projection?: FindOptions['projection'],
): (id: string) => Promise<WithId<T> | undefined> {
  const options: FindOptions = projection ? { projection } : {};
  return coalesce<string, WithId<T> | undefined>({
    ...batchLimits(collection),
    async run(ids) {
      const [only] = ids;
      if (ids.length === 1) {
        const found = await collection.findOne({ _id: only } as Filter<T>, options);
        return [{ value: found ?? undefined }];
      }
      const wanted = [...new Set(ids)];
      const found = new Map<string, WithId<T>>();
      const documents = await collection.find({ _id: { $in: wanted } } as Filter<T>, options).toArray();
      for (const d of documents) found.set(d._id as string, d);
      return ids.map((id) => ({ value: found.get(id) }));
    },
  });
}

/**
 * Batches concurrent single writes. `one` makes a single write; `many` makes an unordered bulk of single writes. The
 * writes of a bulk are independent: a write without an entry in the error of the bulk has succeeded.
 */
export function coalescedWriter<W>(
  collection: Pick<StoreCollection<Document>, 'batchesAtOnce'>,
  write: {
    one: (item: W) => Promise<unknown>;
    many: (items: readonly W[]) => Promise<unknown>;
  },
): (item: W) => Promise<void> {
  return coalesce<W, void>({
    ...batchLimits(collection),
    async run(items) {
      const [only] = items;
      const failed = await failedOf(items.length === 1 ? write.one(only as W) : write.many(items));
      return items.map((_, i): ItemOutcome<void> => {
        const error = failed.get(i);
        return error === undefined ? { value: undefined } : { error };
      });
    },
  });
}

/** Minimum number of changes in a bulk. A bulk needs two commands in sequence, so fewer changes are made separately. */
const minBulk = 3;

/** A conditional change of one document. */
export interface ConditionalChange<T extends Document> {
  /** Contains the `_id` of the document, and the condition. */
  readonly filter: Filter<T> & { readonly _id: T['_id'] };
  readonly update: Update<T>;
}

/**
 * Batches concurrent changes of different documents, each with its own condition. Returns the document after the
 * change, or undefined if the condition was false, as `findOneAndUpdate` does. In a batch, each change writes a unique
 * value to the field `stamp`, by which a successful change is recognized. Therefore no other code may write this field,
 * and a document may get only one kind of change. The returned document may contain later changes of other writers. A
 * store in the same process needs no batches: each change is one operation.
 */
export function coalescedChange<T extends Document>(
  collection: StoreCollection<T>,
  stamp: keyof T & string,
): (change: ConditionalChange<T>) => Promise<WithId<T> | undefined> {
  const alone = async ({ filter, update }: ConditionalChange<T>): Promise<WithId<T> | undefined> =>
    (await collection.findOneAndUpdate(filter, update, { returnDocument: 'after' })) ?? undefined;
  if (collection.batchesAtOnce !== undefined) return alone;
  const separately = async (changes: readonly ConditionalChange<T>[]) =>
    (await Promise.allSettled(changes.map(alone))).map(
      (o): ItemOutcome<WithId<T> | undefined> =>
        o.status === 'fulfilled' ? { value: o.value } : { error: o.reason },
    );
  const inBulk = async (changes: readonly ConditionalChange<T>[]) => {
    const stamps = changes.map(() => randomUUID());
    const failed = await failedOf(
      collection.bulkWrite(
        changes.map(({ filter, update }, i) => ({
          updateOne: {
            filter,
            update: { ...update, $set: { ...update.$set, [stamp]: stamps[i] } } as Update<T>,
          },
        })),
        { ordered: false },
      ),
    );
    const ids = [...new Set(changes.map(({ filter }) => filter._id))];
    const found = await collection
      .find({ _id: { $in: ids }, [stamp]: { $in: stamps } } as Filter<T>)
      .toArray();
    const byStamp = new Map(found.map((document) => [document[stamp] as string, document]));
    return stamps.map((own, i): ItemOutcome<WithId<T> | undefined> => {
      const error = failed.get(i);
      return error === undefined ? { value: byStamp.get(own) } : { error };
    });
  };
  return coalesce<ConditionalChange<T>, WithId<T> | undefined>({
    ...batchLimits(collection),
    run: (changes) => (changes.length < minBulk ? separately(changes) : inBulk(changes)),
  });
}

/** Returns the errors of the single writes of a bulk, by index. Throws if the bulk failed in another way. */
async function failedOf(bulk: Promise<unknown>): Promise<ReadonlyMap<number, unknown>> {
  try {
    await bulk;
    return new Map();
  } catch (error) {
    const failed = writeErrors(error);
    if (!failed) throw error;
    return failed;
  }
}

/**
 * Returns the errors of the single writes in an error of a bulk, by index; undefined if the bulk failed in another way.
 */
function writeErrors(error: unknown): Map<number, unknown> | undefined {
  const bulk = error as {
    name?: string;
    writeErrors?: unknown;
    result?: unknown;
    writeConcernError?: unknown;
  };
  if (bulk?.name !== 'MongoBulkWriteError') return undefined;
  const result = bulk.result as { getWriteConcernError?: () => unknown } | undefined;
  if (result?.getWriteConcernError?.()) return undefined;
  const list = [bulk.writeErrors ?? []].flat() as { index: number; code?: number }[];
  return list.length > 0 ? new Map(list.map((e) => [e.index, e])) : undefined;
}
