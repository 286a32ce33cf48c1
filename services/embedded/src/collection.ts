import { requireTime } from '@headset-cloud/runtime/deadline.ts';
import type {
  BulkOperation,
  BulkOptions,
  BulkResult,
  CountOptions,
  Filter,
  FindOneAndUpdateOptions,
  FindOptions,
  IndexDescription,
  Update,
  UpdateOptions,
} from '@headset-cloud/store/operations.ts';
import type { Settle, StoreCollection, StoreCursor } from '@headset-cloud/store/types.ts';
import {
  type DeleteResult,
  type Document,
  type InsertManyResult,
  type InsertOneResult,
  MongoServerError,
  type OptionalUnlessRequiredId,
  type UpdateResult,
  type WithId,
} from 'mongodb';
import { Bulk, ensureId, insertStep, requireOperators, type Step, writeStep } from './bulk.ts';
import { EmbeddedCursor } from './cursor.ts';
import type { EmbeddedDatabase } from './database.ts';
import { isSqliteError } from './database-errors.ts';
import { type CollectionEngine, isPlainId, type UpdateOutcome, type UpdateRequest } from './engine.ts';
import { compileProjection } from './projection.ts';
import { readSort } from './sort.ts';
import { cloneValue, normaliseDocument } from './values.ts';

/** Number of writes of a bulk in one event loop iteration. They take some milliseconds. */
const bulkPortion = 64;

/**
 * A collection of the embedded store. Results and errors are those of the driver's collection. Each operation is
 * atomic and takes effect at once. A large bulk is written in portions, and other operations may run in between, as
 * on MongoDB. `settle` defines when the promise of an operation settles. No operation starts after the caller's
 * deadline (ADR 0022).
 */
export class EmbeddedCollection<T extends Document> implements StoreCollection<T> {
  readonly collectionName: string;
  /** An operation needs no round trip; the operations of one event loop iteration share one commit. */
  readonly batchesAtOnce = 16;
  readonly #db: EmbeddedDatabase;
  readonly #engine: CollectionEngine;
  readonly #settle: Settle;

  constructor(name: string, db: EmbeddedDatabase, engine: CollectionEngine, settle: Settle) {
    this.collectionName = name;
    this.#db = db;
    this.#engine = engine;
    this.#settle = settle;
  }

  async findOne(filter: Filter<T>, options: FindOptions = {}): Promise<WithId<T> | null> {
    const normalised = normaliseDocument(filter as Document);
    requireTime();
    const found = this.#first(normalised, options);
    await this.#untilDurable(normalised['_id']);
    return (found as WithId<T> | undefined) ?? null;
  }

  find(filter: Filter<T> = {}, options: FindOptions = {}): StoreCursor<WithId<T>> {
    const normalised = normaliseDocument(filter as Document);
    return new EmbeddedCursor<WithId<T>>(
      () => {
        requireTime();
        return this.#query(normalised, options);
      },
      () => this.#untilDurable(undefined),
    );
  }

  async countDocuments(filter: Filter<T> = {}, options: CountOptions = {}): Promise<number> {
    requireTime();
    const count = this.#engine.count(normaliseDocument(filter as Document), options.limit || Infinity);
    await this.#untilDurable(undefined);
    return count;
  }

  async insertOne(doc: OptionalUnlessRequiredId<T>): Promise<InsertOneResult<T>> {
    ensureId(doc as Document);
    const document = normaliseDocument(doc as Document);
    await this.#write(() => this.#engine.insert(document));
    return { acknowledged: true, insertedId: (doc as Document)['_id'] };
  }

  async insertMany(
    docs: readonly OptionalUnlessRequiredId<T>[],
    options: BulkOptions = {},
  ): Promise<InsertManyResult<T>> {
    const result = await this.#bulk(() => docs.map(insertStep), options);
    return {
      acknowledged: true,
      insertedCount: result.insertedCount,
      insertedIds: result.insertedIds as InsertManyResult<T>['insertedIds'],
    };
  }

  async updateOne(
    filter: Filter<T>,
    update: Update<T>,
    options: UpdateOptions = {},
  ): Promise<UpdateResult<T>> {
    requireOperators(update);
    const request = updateRequest(filter, update, options, false);
    return updateResult<T>(await this.#write(() => this.#engine.update(request)));
  }

  async updateMany(
    filter: Filter<T>,
    update: Update<T>,
    options: UpdateOptions = {},
  ): Promise<UpdateResult<T>> {
    requireOperators(update);
    const request = updateRequest(filter, update, options, true);
    return updateResult<T>(await this.#write(() => this.#engine.update(request)));
  }

  async findOneAndUpdate(
    filter: Filter<T>,
    update: Update<T>,
    options: FindOneAndUpdateOptions = {},
  ): Promise<WithId<T> | null> {
    requireOperators(update);
    const project = compileProjection(options.projection);
    const request = updateRequest(filter, update, options, false);
    return await this.#write(() => {
      const { before, after } = this.#engine.update(request);
      const found = options.returnDocument === 'after' ? after : before;
      return found ? (project(found) as WithId<T>) : null;
    });
  }

  async deleteOne(filter: Filter<T>): Promise<DeleteResult> {
    return this.#remove(filter, 1);
  }

  async deleteMany(filter: Filter<T>): Promise<DeleteResult> {
    return this.#remove(filter, Infinity);
  }

  async bulkWrite(operations: readonly BulkOperation<T>[], options: BulkOptions = {}): Promise<BulkResult> {
    return this.#bulk(() => (operations as readonly BulkOperation<Document>[]).map(writeStep), options);
  }

  async createIndexes(indexes: IndexDescription[]): Promise<string[]> {
    return this.#db.write(() => this.#engine.createIndexes(indexes), this.#settle);
  }

  async #bulk(steps: () => readonly Step[], options: BulkOptions): Promise<BulkResult> {
    requireTime();
    const bulk = new Bulk(steps(), options.ordered !== false);
    while (!bulk.endsWithin(bulkPortion)) {
      await this.#attempt(() => bulk.run(this.#engine, bulkPortion), 'in-order');
    }
    await this.#attempt(() => bulk.run(this.#engine, bulkPortion), this.#settle);
    const outcome = bulk.outcome();
    if ('error' in outcome) throw outcome.error;
    return outcome.result;
  }

  async #remove(filter: Filter<T>, max: number): Promise<DeleteResult> {
    const normalised = normaliseDocument(filter as Document);
    const deletedCount = await this.#write(() => this.#engine.remove(normalised, max));
    return { acknowledged: true, deletedCount };
  }

  /** Throws after the caller's deadline. */
  #write<R>(work: () => R): Promise<R> {
    requireTime();
    return this.#attempt(work, this.#settle);
  }

  /**
   * Runs a write that normally needs no rollback after an error. A change of one document throws before it writes. If
   * a change of several documents fails, the documents before the rejected document stay changed, as on MongoDB. An
   * SQLite error, or an unexpected error after a write, rolls back the whole transaction, with the writes of other
   * callers.
   */
  #attempt<R>(work: () => R, settle: Settle): Promise<R> {
    const attempt = (): Attempt<R> => {
      const before = this.#engine.written;
      try {
        return { value: work() };
      } catch (error) {
        const wroteNothing = this.#engine.written === before && !isSqliteError(error);
        if (wroteNothing || error instanceof MongoServerError) return { refused: error };
        throw error;
      }
    };
    return this.#db.writeWithoutSavepoint(attempt, settle).then(valueOrThrow);
  }

  #first(filter: Document, options: FindOptions): Document | undefined {
    if (options.skip) return this.#query(filter, { ...options, limit: 1 }).next().value ?? undefined;
    const project = compileProjection(options.projection);
    const match = this.#engine.findOne(filter, readSort(options.sort));
    return match && project(match.document);
  }

  *#query(filter: Document, options: FindOptions): Generator<Document> {
    const project = compileProjection(options.projection);
    const limit = Math.abs(options.limit ?? 0) || Infinity;
    let skip = options.skip ?? 0;
    let returned = 0;
    for (const { document } of this.#engine.find(filter, readSort(options.sort))) {
      if (skip > 0) {
        skip -= 1;
        continue;
      }
      yield project(document);
      returned += 1;
      if (returned >= limit) return;
    }
  }

  /**
   * Resolves when the documents that a read returned are durable; at once if writes resolve 'in-order'. `id`: the `_id`
   * that the filter requires, if any. Then only writes of that document are waited for.
   */
  async #untilDurable(id: unknown): Promise<void> {
    if (this.#settle === 'in-order') return;
    if (this.#engine.hasPendingWrites(isPlainId(id) ? id : undefined)) await this.#db.untilDurable();
  }
}

type Attempt<R> = { readonly value: R } | { readonly refused: unknown };

function valueOrThrow<R>(attempt: Attempt<R>): R {
  if ('refused' in attempt) throw attempt.refused;
  return attempt.value;
}

function updateRequest(
  filter: unknown,
  update: unknown,
  options: Pick<FindOneAndUpdateOptions, 'upsert' | 'sort'>,
  many: boolean,
): UpdateRequest {
  return {
    filter: normaliseDocument(filter as Document),
    change: normaliseDocument(update as Document),
    many,
    upsert: options.upsert === true,
    sort: readSort(options.sort),
  };
}

function updateResult<T extends Document>(outcome: UpdateOutcome): UpdateResult<T> {
  const upserted = 'upsertedId' in outcome;
  return {
    acknowledged: true,
    modifiedCount: outcome.modified,
    upsertedId: (upserted ? cloneValue(outcome.upsertedId) : null) as UpdateResult<T>['upsertedId'],
    upsertedCount: upserted ? 1 : 0,
    matchedCount: outcome.matched,
  };
}
