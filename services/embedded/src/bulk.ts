import {
  type AnyBulkWriteOperation,
  type BulkWriteResult,
  type Document,
  type MongoBulkWriteError,
  MongoInvalidArgumentError,
  MongoServerError,
  ObjectId,
} from 'mongodb';
import { bulkError, bulkResult, newTally, type Tally } from './bulk-result.ts';
import type { CollectionEngine } from './engine.ts';
import { readSort } from './sort.ts';
import { normalise, normaliseDocument } from './values.ts';

/** Refuses, as the driver does, an update without operators. */
export function requireOperators(update: unknown): void {
  const parts = Array.isArray(update) ? update : [update];
  const valid = parts.length > 0 && parts.every((part) => Object.keys(part ?? {})[0]?.startsWith('$'));
  if (!valid) throw new MongoInvalidArgumentError('Update document requires atomic operators');
}

/** Gives a document its `_id` in place, as the driver does. */
export function giveId(document: Document): void {
  if (document['_id'] === undefined || document['_id'] === null) document['_id'] = new ObjectId();
}

type Step = (engine: CollectionEngine, tally: Tally) => void;

/** What came of a bulk. */
export type BulkOutcome = { readonly result: BulkWriteResult } | { readonly error: MongoBulkWriteError };

/** A bulk of writes, checked and normalised when it is made; run in portions. */
export class Bulk {
  readonly #steps: Step[];
  readonly #operations: readonly AnyBulkWriteOperation[];
  readonly #ordered: boolean;
  #tally = newTally();
  #next = 0;

  /** Throws the driver's MongoInvalidArgumentError for what the driver refuses. */
  constructor(operations: readonly AnyBulkWriteOperation[], ordered: boolean) {
    if (operations.length === 0) {
      throw new MongoInvalidArgumentError('Invalid BulkOperation, Batch cannot be empty');
    }
    this.#operations = operations;
    this.#ordered = ordered;
    this.#steps = operations.map(step);
  }

  /** True when what is left are at most so many writes. */
  endsWithin(count: number): boolean {
    return this.#steps.length - this.#next <= count;
  }

  /** Runs the next ones, inside `EmbeddedDatabase.write`. */
  run(engine: CollectionEngine, count: number): void {
    for (const end = Math.min(this.#next + count, this.#steps.length); this.#next < end; this.#next++) {
      try {
        this.#steps[this.#next]?.(engine, this.#tally);
      } catch (error) {
        if (!(error instanceof MongoServerError)) throw error;
        this.#tally.errors.push({ index: this.#next, error, operation: this.#operations[this.#next] });
        if (this.#ordered) this.#next = this.#steps.length;
      }
    }
  }

  outcome(): BulkOutcome {
    const result = bulkResult(this.#tally);
    const error = bulkError(result);
    return error ? { error } : { result };
  }
}

function step(operation: AnyBulkWriteOperation, index: number): Step {
  if ('insertOne' in operation) {
    giveId(operation.insertOne.document as Document);
    const document = normaliseDocument(operation.insertOne.document as Document);
    return (engine, tally) => {
      engine.insert(document);
      tally.insertedCount += 1;
      tally.insertedIds.push({ index, _id: (operation.insertOne.document as Document)['_id'] });
    };
  }
  if ('updateOne' in operation) return updateStep(operation.updateOne, false, index);
  if ('updateMany' in operation) return updateStep(operation.updateMany, true, index);
  if ('replaceOne' in operation) {
    const { filter, replacement, upsert } = operation.replaceOne;
    if (Object.keys(replacement)[0]?.startsWith('$')) {
      throw new MongoInvalidArgumentError('Replacement document must not use atomic operators');
    }
    const request = {
      filter: normaliseDocument(filter as Document),
      change: normaliseDocument(replacement as Document),
      replace: true,
      upsert: upsert === true,
    };
    return (engine, tally) => addUpdate(engine.update(request), index, tally);
  }
  if ('deleteOne' in operation || 'deleteMany' in operation) {
    const many = 'deleteMany' in operation;
    const filter = normaliseDocument((many ? operation.deleteMany : operation.deleteOne).filter as Document);
    return (engine, tally) => {
      tally.deletedCount += engine.remove(filter, many);
    };
  }
  throw new MongoInvalidArgumentError(
    'bulkWrite only supports insertOne, updateOne, updateMany, deleteOne, deleteMany',
  );
}

function updateStep(
  model: {
    filter: unknown;
    update: unknown;
    upsert?: boolean;
    arrayFilters?: Document[];
    sort?: unknown;
  },
  many: boolean,
  index: number,
): Step {
  requireOperators(model.update);
  const request = {
    filter: normaliseDocument(model.filter as Document),
    change: normalise(model.update) as Document,
    many,
    upsert: model.upsert === true,
    sort: readSort(model.sort as Parameters<typeof readSort>[0]),
    arrayFilters: (normalise(model.arrayFilters ?? []) as Document[]) ?? [],
  };
  return (engine, tally) => addUpdate(engine.update(request), index, tally);
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
