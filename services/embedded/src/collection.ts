import { requireTime } from '@headset-cloud/kit/deadline.ts';
import type { Settle, StoreCollection, StoreCursor } from '@headset-cloud/kit/store/types.ts';
import type { Document } from 'mongodb';
import {
  type AnyBulkWriteOperation,
  type BulkWriteOptions,
  type BulkWriteResult,
  type CountDocumentsOptions,
  type DeleteResult,
  type Filter,
  type FindOneAndUpdateOptions,
  type FindOptions,
  type IndexDescription,
  type InsertManyResult,
  type InsertOneResult,
  MongoServerError,
  type OptionalUnlessRequiredId,
  type UpdateFilter,
  type UpdateOptions,
  type UpdateResult,
  type WithId,
} from 'mongodb';
import { Bulk, giveId, requireOperators } from './bulk.ts';
import { EmbeddedCursor } from './cursor.ts';
import type { EmbeddedDatabase } from './database.ts';
import { type CollectionEngine, isPlainId, type UpdateOutcome, type UpdateRequest } from './engine.ts';
import { compileProjection } from './projection.ts';
import { readSort } from './sort.ts';
import { cloneValue, normalise, normaliseDocument } from './values.ts';

/** Writes of a bulk that are made in one turn of the event loop: some milliseconds. */
const bulkPortion = 64;

/**
 * A collection of the embedded store, with the driver's methods, options, answers and errors. Each
 * operation takes effect at once, whole; a large bulk in portions, between which other work goes on, as
 * MongoDB lets it. Its promise settles as `settle` says. None begins for a caller that has given up
 * (ADR 0022).
 */
export class EmbeddedCollection<T extends Document> implements StoreCollection<T> {
  readonly collectionName: string;
  /** Calls cost no round trip here; the commits that they wait for are shared anyway. */
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
    const [found] = this.#query(wanted, { ...options, limit: 1 });
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

  async countDocuments(filter: Filter<T> = {}, options: CountDocumentsOptions = {}): Promise<number> {
    const { skip = 0, limit } = options;
    requireTime();
    const all = this.#engine.count(normaliseDocument(filter as Document));
    await this.#settled(undefined);
    return Math.min(Math.max(all - skip, 0), limit ? limit : Infinity);
  }

  async insertOne(doc: OptionalUnlessRequiredId<T>): Promise<InsertOneResult<T>> {
    giveId(doc as Document);
    const document = normaliseDocument(doc as Document);
    await this.#write(() => this.#engine.insert(document));
    return { acknowledged: true, insertedId: (doc as Document)['_id'] };
  }

  async insertMany(
    docs: readonly OptionalUnlessRequiredId<T>[],
    options: BulkWriteOptions = {},
  ): Promise<InsertManyResult<T>> {
    const operations = docs.map((document) => ({ insertOne: { document } }));
    const result = await this.bulkWrite(operations as AnyBulkWriteOperation<T>[], options);
    return {
      acknowledged: true,
      insertedCount: result.insertedCount,
      insertedIds: result.insertedIds as InsertManyResult<T>['insertedIds'],
    };
  }

  updateOne(
    filter: Filter<T>,
    update: UpdateFilter<T>,
    options: UpdateOptions & { sort?: FindOptions['sort'] } = {},
  ): Promise<UpdateResult<T>> {
    return this.#update(filter, update, options, false);
  }

  updateMany(
    filter: Filter<T>,
    update: UpdateFilter<T>,
    options: UpdateOptions = {},
  ): Promise<UpdateResult<T>> {
    return this.#update(filter, update, options, true);
  }

  async findOneAndUpdate(
    filter: Filter<T>,
    update: UpdateFilter<T>,
    options: FindOneAndUpdateOptions = {},
  ): Promise<WithId<T> | null> {
    requireOperators(update);
    const project = compileProjection(options.projection as Document | undefined);
    const request = updateRequest(filter, update, options, false);
    return this.#write(() => {
      const { before, after } = this.#engine.update(request);
      const found = options.returnDocument === 'after' ? after : before;
      return found ? (project(found) as WithId<T>) : null;
    });
  }

  async deleteOne(filter: Filter<T>): Promise<DeleteResult> {
    return this.#remove(filter, false);
  }

  async deleteMany(filter: Filter<T>): Promise<DeleteResult> {
    return this.#remove(filter, true);
  }

  async bulkWrite(
    operations: readonly AnyBulkWriteOperation<T>[],
    options: BulkWriteOptions = {},
  ): Promise<BulkWriteResult> {
    requireTime();
    const bulk = new Bulk(operations as readonly AnyBulkWriteOperation[], options.ordered !== false);
    while (!bulk.endsWithin(bulkPortion)) {
      await this.#db.write(() => bulk.run(this.#engine, bulkPortion), 'in-order');
    }
    await this.#db.write(() => bulk.run(this.#engine, bulkPortion), this.#settle);
    const outcome = bulk.outcome();
    if ('error' in outcome) throw outcome.error;
    return outcome.result;
  }

  async createIndexes(indexes: IndexDescription[]): Promise<string[]> {
    return this.#db.write(() => this.#engine.createIndexes(indexes), this.#settle);
  }

  async #update(
    filter: Filter<T>,
    update: UpdateFilter<T>,
    options: UpdateOptions & { sort?: FindOptions['sort'] },
    many: boolean,
  ): Promise<UpdateResult<T>> {
    requireOperators(update);
    const request = updateRequest(filter, update, options, many);
    return updateResult<T>(await this.#write(() => this.#engine.update(request)));
  }

  async #remove(filter: Filter<T>, many: boolean): Promise<DeleteResult> {
    const wanted = normaliseDocument(filter as Document);
    requireTime();
    const deletedCount = await this.#db.write(() => this.#engine.remove(wanted, many), this.#settle);
    return { acknowledged: true, deletedCount };
  }

  /**
   * A write whose refusals undo nothing: one document's change throws before it writes, and of several
   * those before the refused one stay changed, as on MongoDB.
   */
  async #write<R>(work: () => R): Promise<R> {
    requireTime();
    const outcome = await this.#db.write((): { value: R } | { refused: MongoServerError } => {
      try {
        return { value: work() };
      } catch (error) {
        if (error instanceof MongoServerError) return { refused: error };
        throw error;
      }
    }, this.#settle);
    if ('refused' in outcome) throw outcome.refused;
    return outcome.value;
  }

  *#query(filter: Document, options: FindOptions): Generator<Document> {
    const project = compileProjection(options.projection as Document | undefined);
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
   * Resolves when what a read saw, or saw missing, is durable, unless writes do not wait for that
   * either. With an `_id` in the filter only that document's writes matter.
   */
  async #settled(id: unknown): Promise<void> {
    if (this.#settle === 'in-order') return;
    if (this.#engine.isUncommitted(isPlainId(id) ? id : undefined)) await this.#db.afterCommit();
  }
}

function updateRequest(
  filter: unknown,
  update: unknown,
  options: {
    upsert?: boolean;
    sort?: FindOptions['sort'];
    arrayFilters?: Document[];
  },
  many: boolean,
): UpdateRequest {
  return {
    filter: normaliseDocument(filter as Document),
    change: normalise(update) as Document,
    many,
    upsert: options.upsert === true,
    sort: readSort(options.sort),
    arrayFilters: options.arrayFilters ? (normalise(options.arrayFilters) as Document[]) : [],
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
