import type { Document, WithId } from 'mongodb';
import { coalesce, type ItemOutcome } from '../batching/coalesce.ts';
import type { Filter, FindOptions } from './operations.ts';
import type { StoreCollection } from './types.ts';

const limits = (collection: Pick<StoreCollection<Document>, 'batchesAtOnce'>) => ({
  maxRunning: collection.batchesAtOnce ?? 2,
  maxItems: 200,
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
    ...limits(collection),
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
 * writes. The writes of a bulk are independent: those that its error does not name have succeeded.
 */
export function coalescedWriter<W>(
  collection: Pick<StoreCollection<Document>, 'batchesAtOnce'>,
  write: {
    one: (item: W) => Promise<unknown>;
    many: (items: readonly W[]) => Promise<unknown>;
  },
): (item: W) => Promise<void> {
  return coalesce<W, void>({
    ...limits(collection),
    async run(items) {
      const [only] = items;
      try {
        await (items.length === 1 ? write.one(only as W) : write.many(items));
        return items.map(() => ({ value: undefined }));
      } catch (error) {
        const failed = writeErrors(error);
        if (!failed) throw error;
        return items.map((_, i): ItemOutcome<void> => {
          const e = failed.get(i);
          return e === undefined ? { value: undefined } : { error: e };
        });
      }
    },
  });
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
