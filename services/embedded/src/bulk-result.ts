import type { BulkResult } from '@headset-cloud/store/operations.ts';
import { type BulkWriteResult, MongoBulkWriteError, type MongoServerError, type WriteError } from 'mongodb';

interface NumberedId {
  readonly index: number;
  readonly _id: unknown;
}

/** Counts, ids and errors of the writes of a bulk that were executed so far. */
export interface BulkProgress {
  insertedCount: number;
  matchedCount: number;
  modifiedCount: number;
  deletedCount: number;
  readonly insertedIds: NumberedId[];
  readonly upsertedIds: NumberedId[];
  readonly errors: { readonly index: number; readonly error: MongoServerError }[];
}

/** The progress of a bulk that has not begun. */
export function newProgress(): BulkProgress {
  return {
    insertedCount: 0,
    matchedCount: 0,
    modifiedCount: 0,
    deletedCount: 0,
    insertedIds: [],
    upsertedIds: [],
    errors: [],
  };
}

/** The counts and ids that the driver's BulkWriteResult has. */
export function bulkResult(progress: BulkProgress): BulkResult {
  const { insertedCount, matchedCount, modifiedCount, deletedCount, upsertedIds, insertedIds } = progress;
  return {
    insertedCount,
    matchedCount,
    modifiedCount,
    deletedCount,
    upsertedCount: upsertedIds.length,
    upsertedIds: byIndex(upsertedIds),
    insertedIds: byIndex(insertedIds),
  };
}

/** The driver's error if some of the writes failed; undefined if none did. */
export function bulkError({ errors }: BulkProgress, result: BulkResult): MongoBulkWriteError | undefined {
  const [first] = errors;
  if (!first) return undefined;
  const writeErrors = errors.map(({ index, error }) => ({
    index,
    code: Number(error.code),
    errmsg: error.message,
  }));
  return new MongoBulkWriteError(
    {
      message: first.error.message,
      code: Number(first.error.code),
      writeErrors: writeErrors as WriteError[],
    },
    result as BulkWriteResult,
  );
}

function byIndex(ids: readonly NumberedId[]): Record<number, unknown> {
  return Object.fromEntries(ids.map(({ index, _id }) => [index, _id]));
}
