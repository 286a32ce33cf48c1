import { randomUUID } from 'node:crypto';
import { type BatchLimits, coalesce, type ItemOutcome } from '@headset-cloud/runtime/batching/coalesce.ts';
import type { Document, WithId } from 'mongodb';
import type { Filter, FindOptions, Update } from './operations.ts';
import type { StoreCollection } from './types.ts';

/** A command that has taken this long may hang: the next command starts concurrently; milliseconds. */
const concurrentAfterMs = 50;

/** Batches of a store: where each is a round trip, few and large ones. */
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
 * Batches concurrent single writes. `one` makes a single write; `many` makes an unordered bulk of such
 * writes. The writes of a bulk are independent: a write that the error does not name has succeeded.
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

/** A batch needs two commands, one after the other. Fewer changes than this are made one by one. */
const fewestTogether = 3;

/** A conditional change of one document. */
export interface ConditionalChange<T extends Document> {
  /** Names one `_id`, and the condition. */
  readonly filter: Filter<T> & { readonly _id: T['_id'] };
  readonly update: Update<T>;
}

/**
 * Batches concurrent changes of different documents, each with its own condition. Returns the document after the change,
 * or undefined if the condition was false, as `findOneAndUpdate` does. In a batch, a successful change is recognized by a
 * unique value that it writes to the field `stamp`. No other code may write that field, and a document may get only one
 * kind of change. The returned document may contain later changes by others. A store within the process needs no batches:
 * each change is one operation.
 */
export function coalescedChange<T extends Document>(
  collection: StoreCollection<T>,
  stamp: keyof T & string,
): (change: ConditionalChange<T>) => Promise<WithId<T> | undefined> {
  const alone = async ({ filter, update }: ConditionalChange<T>): Promise<WithId<T> | undefined> =>
    (await collection.findOneAndUpdate(filter, update, { returnDocument: 'after' })) ?? undefined;
  if (collection.batchesAtOnce !== undefined) return alone;
  const each = async (changes: readonly ConditionalChange<T>[]) =>
    (await Promise.allSettled(changes.map(alone))).map(
      (o): ItemOutcome<WithId<T> | undefined> =>
        o.status === 'fulfilled' ? { value: o.value } : { error: o.reason },
    );
  const together = async (changes: readonly ConditionalChange<T>[]) => {
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
    run: (changes) => (changes.length < fewestTogether ? each(changes) : together(changes)),
  });
}

/** The errors of a bulk's single writes by index; throws when it failed in any other way. */
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

/** The errors of a bulk's single writes by index; undefined when the bulk failed in any other way. */
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
