import type { BulkOperation, BulkResult } from '@headset-cloud/store/operations.ts';
import {
  type Document,
  type MongoBulkWriteError,
  MongoInvalidArgumentError,
  MongoServerError,
  ObjectId,
} from 'mongodb';
import { bulkError, bulkResult, newTally, type Tally } from './bulk-result.ts';
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

/** Gives a document its `_id` in place, as the driver does. */
export function giveId(document: Document): void {
  if (document['_id'] === undefined || document['_id'] === null) document['_id'] = new ObjectId();
}

/** One checked write of a bulk; `index` is its position in the bulk. */
export type Step = (engine: CollectionEngine, tally: Tally, index: number) => void;

/** Result of a bulk. */
export type BulkOutcome = { readonly result: BulkResult } | { readonly error: MongoBulkWriteError };

/** A bulk of writes; run in portions. */
export class Bulk {
  readonly #steps: readonly Step[];
  readonly #ordered: boolean;
  #tally = newTally();
  #next = 0;

  /** `ordered`: stops at the first error. Throws MongoInvalidArgumentError for an empty bulk. */
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
        this.#steps[this.#next]?.(engine, this.#tally, this.#next);
      } catch (error) {
        if (!(error instanceof MongoServerError)) throw error;
        this.#tally.errors.push({ index: this.#next, error });
        if (this.#ordered) this.#next = this.#steps.length;
      }
    }
  }

  outcome(): BulkOutcome {
    const result = bulkResult(this.#tally);
    const error = bulkError(this.#tally, result);
    return error ? { error } : { result };
  }
}

/** An insert of a bulk: `insertMany`. */
export function insertStep(document: Document): Step {
  giveId(document);
  const normalised = normaliseDocument(document);
  return (engine, tally, index) => {
    engine.insert(normalised);
    tally.insertedCount += 1;
    tally.insertedIds.push({ index, _id: document['_id'] });
  };
}

/** One of `bulkWrite`'s operations. Throws MongoInvalidArgumentError for any other. */
export function writeStep(operation: BulkOperation<Document>): Step {
  if ('updateOne' in operation) return updateStep(operation.updateOne, false);
  if ('updateMany' in operation) return updateStep(operation.updateMany, true);
  if ('deleteOne' in operation) {
    const filter = normaliseDocument(operation.deleteOne.filter);
    return (engine, tally) => {
      tally.deletedCount += engine.remove(filter, 1);
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
  return (engine, tally, index) => addUpdate(engine.update(request), index, tally);
}

function addUpdate(
  outcome: { matched: number; modified: number; upsertedId?: unknown },
  index: number,
  tally: Tally,
): void {
  tally.matchedCount += outcome.matched;
  tally.modifiedCount += outcome.modified;
  if ('upsertedId' in outcome) {
    tally.upsertedIds.push({ index, _id: outcome.upsertedId });
  }
}
