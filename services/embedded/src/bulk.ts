import type { BulkOperation, BulkResult } from '@headset-cloud/store/operations.ts';
import {
  type Document,
  type MongoBulkWriteError,
  MongoInvalidArgumentError,
  MongoServerError,
  ObjectId,
} from 'mongodb';
import { type BulkProgress, bulkError, bulkResult, newProgress } from './bulk-result.ts';
import type { CollectionEngine } from './engine.ts';
import { serverError } from './store-errors.ts';
import { normaliseDocument } from './values.ts';

/** Rejects, as the driver does, an update without operators; also rejects a pipeline, which is not supported. */
export function requireOperators(update: unknown): void {
  if (Array.isArray(update) && update.length > 0) {
    throw serverError('failedToParse', 'The embedded store has no update pipelines.');
  }
  if (!Object.keys(update ?? {})[0]?.startsWith('$')) {
    throw new MongoInvalidArgumentError('Update document requires atomic operators');
  }
}

/** Adds an `_id` to a document without one, in place, as the driver does. */
export function ensureId(document: Document): void {
  if (document['_id'] === undefined || document['_id'] === null) document['_id'] = new ObjectId();
}

/** One validated write of a bulk. `index`: its position in the bulk. */
export type Step = (engine: CollectionEngine, progress: BulkProgress, index: number) => void;

/** Result of a bulk. */
export type BulkOutcome = { readonly result: BulkResult } | { readonly error: MongoBulkWriteError };

/** A bulk of writes. It can be executed in portions. */
export class Bulk {
  readonly #steps: readonly Step[];
  readonly #ordered: boolean;
  #progress = newProgress();
  #next = 0;

  /** `ordered`: the bulk ends at the first error. Throws MongoInvalidArgumentError for an empty bulk. */
  constructor(steps: readonly Step[], ordered: boolean) {
    if (steps.length === 0) {
      throw new MongoInvalidArgumentError('Invalid BulkOperation, Batch cannot be empty');
    }
    this.#steps = steps;
    this.#ordered = ordered;
  }

  /** True if at most `count` writes are left. */
  endsWithin(count: number): boolean {
    return this.#steps.length - this.#next <= count;
  }

  /** Runs the next `count` writes; call it inside `EmbeddedDatabase.write`. */
  run(engine: CollectionEngine, count: number): void {
    for (const end = Math.min(this.#next + count, this.#steps.length); this.#next < end; this.#next++) {
      try {
        this.#steps[this.#next]?.(engine, this.#progress, this.#next);
      } catch (error) {
        if (!(error instanceof MongoServerError)) throw error;
        this.#progress.errors.push({ index: this.#next, error });
        if (this.#ordered) this.#next = this.#steps.length;
      }
    }
  }

  outcome(): BulkOutcome {
    const result = bulkResult(this.#progress);
    const error = bulkError(this.#progress, result);
    return error ? { error } : { result };
  }
}

/** One insert of `insertMany`. */
export function insertStep(document: Document): Step {
  ensureId(document);
  const normalised = normaliseDocument(document);
  return (engine, progress, index) => {
    engine.insert(normalised);
    progress.insertedCount += 1;
    progress.insertedIds.push({ index, _id: document['_id'] });
  };
}

/** One operation of `bulkWrite`. Throws MongoInvalidArgumentError for an unsupported operation. */
export function writeStep(operation: BulkOperation<Document>): Step {
  if ('updateOne' in operation) return updateStep(operation.updateOne, false);
  if ('updateMany' in operation) return updateStep(operation.updateMany, true);
  if ('deleteOne' in operation) {
    const filter = normaliseDocument(operation.deleteOne.filter);
    return (engine, progress) => {
      progress.deletedCount += engine.remove(filter, 1);
    };
  }
  throw new MongoInvalidArgumentError(
    `The embedded store's bulkWrite knows updateOne, updateMany and deleteOne, not ${Object.keys(operation).join()}`,
  );
}

function updateStep(model: { filter: Document; update: Document; upsert?: boolean }, many: boolean): Step {
  requireOperators(model.update);
  const request = {
    filter: normaliseDocument(model.filter),
    change: normaliseDocument(model.update),
    many,
    upsert: model.upsert === true,
  };
  return (engine, progress, index) => addUpdate(engine.update(request), index, progress);
}

function addUpdate(
  outcome: { matched: number; modified: number; upsertedId?: unknown },
  index: number,
  progress: BulkProgress,
): void {
  progress.matchedCount += outcome.matched;
  progress.modifiedCount += outcome.modified;
  if ('upsertedId' in outcome) {
    progress.upsertedIds.push({ index, _id: outcome.upsertedId });
  }
}
