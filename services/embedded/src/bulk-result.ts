import type { Document } from 'mongodb';
import { type BulkWriteResult, MongoBulkWriteError, type MongoServerError, type WriteError } from 'mongodb';

interface NumberedId {
  readonly index: number;
  readonly _id: unknown;
}

/** What a bulk of writes has done so far. */
export interface Tally {
  insertedCount: number;
  matchedCount: number;
  modifiedCount: number;
  deletedCount: number;
  readonly insertedIds: NumberedId[];
  readonly upsertedIds: NumberedId[];
  readonly errors: {
    readonly index: number;
    readonly error: MongoServerError;
    readonly operation: unknown;
  }[];
}

/** A tally of nothing yet. */
export function newTally(): Tally {
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

/** The driver's answer (its class is not among its exports). */
export function bulkResult(tally: Tally): BulkWriteResult {
  const errors = tally.errors.map(({ index, error, operation }) => writeError(index, error, operation));
  const { insertedCount, matchedCount, modifiedCount, deletedCount } = tally;
  const result = {
    insertedCount,
    matchedCount,
    modifiedCount,
    deletedCount,
    upsertedCount: tally.upsertedIds.length,
    upsertedIds: byIndex(tally.upsertedIds),
    insertedIds: byIndex(tally.insertedIds),
  };
  const methods = {
    ok: 1,
    isOk: () => true,
    hasWriteErrors: () => errors.length > 0,
    getWriteErrorCount: () => errors.length,
    getWriteErrorAt: (index: number) => errors[index],
    getWriteErrors: () => errors,
    getWriteConcernError: () => undefined,
    getUpsertedIdAt: (index: number) => tally.upsertedIds[index],
    getRawResponse: () => ({ ...result }),
  };
  for (const [name, value] of Object.entries(methods)) {
    Object.defineProperty(result, name, { value, enumerable: false });
  }
  return result as unknown as BulkWriteResult;
}

/** The driver's error when some of the writes failed; undefined when none did. */
export function bulkError(result: BulkWriteResult): MongoBulkWriteError | undefined {
  const [first] = result.getWriteErrors();
  if (!first) return undefined;
  return new MongoBulkWriteError(
    {
      message: first.errmsg ?? 'write operation failed',
      code: first.code,
      writeErrors: result.getWriteErrors(),
    },
    result,
  );
}

function byIndex(ids: readonly NumberedId[]): Record<number, unknown> {
  return Object.fromEntries(ids.map(({ index, _id }) => [index, _id]));
}

function writeError(index: number, error: MongoServerError, operation: unknown): WriteError {
  const err = { index, code: Number(error.code), errmsg: error.message, errInfo: undefined, op: operation };
  const plain = {
    ...err,
    err,
    getOperation: () => operation as Document,
    toJSON: () => ({ code: err.code, index, errmsg: err.errmsg, op: operation }),
    toString: () => `WriteError(${err.errmsg})`,
  };
  return plain as unknown as WriteError;
}
