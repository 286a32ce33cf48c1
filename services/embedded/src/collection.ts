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
import { Bulk, giveId, insertStep, requireOperators, type Step, writeStep } from './bulk.ts';
import { EmbeddedCursor } from './cursor.ts';
import type { EmbeddedDatabase } from './database.ts';
import { isSqliteError } from './database-errors.ts';
import { type CollectionEngine, isPlainId, type UpdateOutcome, type UpdateRequest } from './engine.ts';
import { compileProjection } from './projection.ts';
import { readSort } from './sort.ts';
import { cloneValue, normaliseDocument } from './values.ts';

/** Number of bulk writes in one event loop iteration; they take some milliseconds. */
const bulkPortion = 64;

/**
 * A collection of the embedded store, with the results and errors of the driver's collection. Each operation is atomic
 * and takes effect at once. A large bulk is written in portions, and other work may run between them, as on MongoDB.
 * `settle` controls when an operation's promise settles. No operation starts after the caller's deadline (ADR 0022).
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
    const wanted = normaliseDocument(filter as Document);
    requireTime();
    const found = this.#first(wanted, options);
    await this.#settled(wanted['_id']);
    return (found as WithId<T> | undefined) ?? null;
  }

  find(filter: Filter<T> = {}, options: FindOptions = {}): StoreCursor<WithId<T>> {
    const wanted = normaliseDocument(filter as Document);
    return new EmbeddedCursor<WithId<T>>(
      () => {
        requireTime();
        return this.#query(wanted, options);
      },
      () => this.#settled(undefined),
    );
  }

  async countDocuments(filter: Filter<T> = {}, options: CountOptions = {}): Promise<number> {
    requireTime();
    const count = this.#engine.count(normaliseDocument(filter as Document), options.limit || Infinity);
    await this.#settled(undefined);
    return count;
  }

  async insertOne(doc: OptionalUnlessRequiredId<T>): Promise<InsertOneResult<T>> {
    giveId(doc as Document);
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

  async #remove(filter: Filter<T>, most: number): Promise<DeleteResult> {
    const wanted = normaliseDocument(filter as Document);
    const deletedCount = await this.#write(() => this.#engine.remove(wanted, most));
    return { acknowledged: true, deletedCount };
  }

  /** Throws after the caller's deadline. */
  #write<R>(work: () => R): Promise<R> {
    requireTime();
    return this.#attempt(work, this.#settle);
  }

  /**
   * A write that normally needs no rollback at an error. The change of one document throws before it writes. In a change
   * of several documents, the documents before the rejected one stay changed, as on MongoDB. An SQLite error, or an
   * unexpected error after a write, rolls back the write and all other writes of its transaction.
   */
  #attempt<R>(work: () => R, settle: Settle): Promise<R> {
    const attempt = (): Attempt<R> => {
      const before = this.#engine.written;
      try {
        return { value: work() };
      } catch (error) {
        const harmless = this.#engine.written === before && !isSqliteError(error);
        if (harmless || error instanceof MongoServerError) return { refused: error };
        throw error;
      }
    };
    return this.#db.writeWhole(attempt, settle).then(answerOf);
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
    let given = 0;
    for (const { document } of this.#engine.find(filter, readSort(options.sort))) {
      if (skip > 0) {
        skip -= 1;
        continue;
      }
      yield project(document);
      given += 1;
      if (given >= limit) return;
    }
  }

  /**
   * Resolves when the state that a read returned is durable; at once if writes resolve 'in-order'. If the filter requires
   * one `_id`, waits for the writes of that document only.
   */
  async #settled(id: unknown): Promise<void> {
    if (this.#settle === 'in-order') return;
    if (this.#engine.isUncommitted(isPlainId(id) ? id : undefined)) await this.#db.afterCommit();
  }
}

type Attempt<R> = { readonly value: R } | { readonly refused: unknown };

function answerOf<R>(attempt: Attempt<R>): R {
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
