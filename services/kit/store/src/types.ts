import type {
  DeleteResult,
  Document,
  InsertManyResult,
  InsertOneResult,
  OptionalUnlessRequiredId,
  UpdateResult,
  WithId,
} from 'mongodb';
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
} from './operations.ts';

/**
 * The subset of the MongoDB driver's Collection that services use. The driver's `Collection<T>` and the embedded store
 * implement this interface (rule C5). The contract suite requires the same answers from both.
 */
export interface StoreCollection<T extends Document> {
  readonly collectionName: string;
  /**
   * Maximum number of concurrent batches of single operations (coalesced.ts), for a store in the same process. Absent:
   * each batch is a network round trip, and coalesced.ts has a small limit.
   */
  readonly batchesAtOnce?: number;
  findOne(filter: Filter<T>, options?: FindOptions): Promise<WithId<T> | null>;
  find(filter: Filter<T>, options?: FindOptions): StoreCursor<WithId<T>>;
  countDocuments(filter?: Filter<T>, options?: CountOptions): Promise<number>;
  insertOne(doc: OptionalUnlessRequiredId<T>): Promise<InsertOneResult<T>>;
  insertMany(
    docs: readonly OptionalUnlessRequiredId<T>[],
    options?: BulkOptions,
  ): Promise<InsertManyResult<T>>;
  updateOne(filter: Filter<T>, update: Update<T>, options?: UpdateOptions): Promise<UpdateResult<T>>;
  updateMany(filter: Filter<T>, update: Update<T>, options?: UpdateOptions): Promise<UpdateResult<T>>;
  /** Returns the document before or after the change, by `returnDocument`; null if no document matched. */
  findOneAndUpdate(
    filter: Filter<T>,
    update: Update<T>,
    options?: FindOneAndUpdateOptions,
  ): Promise<WithId<T> | null>;
  deleteOne(filter: Filter<T>): Promise<DeleteResult>;
  deleteMany(filter: Filter<T>): Promise<DeleteResult>;
  bulkWrite(operations: readonly BulkOperation<T>[], options?: BulkOptions): Promise<BulkResult>;
  createIndexes(indexes: IndexDescription[]): Promise<string[]>;
}

/** The part of the driver's FindCursor that services use. */
export interface StoreCursor<T> extends AsyncIterable<T> {
  toArray(): Promise<T[]>;
  close(): Promise<void>;
}

/**
 * When a write resolves (ADR 0012). 'durable' (default): when the write survives a power failure. 'in-order': when the
 * order of the write is fixed, so that no later write can be durable without it. Nothing outside the platform may
 * depend on an 'in-order' write before a later durable write has resolved. The two values differ only if store and log
 * share one journal (the embedded stack); otherwise every write is durable.
 */
export type Settle = 'durable' | 'in-order';

/** One service's database: the driver's `Db`, or the embedded one. */
export interface Store {
  /** Returns a collection. With `settle` 'in-order', its reads may return data that is not durable yet. */
  collection<T extends Document = Document>(
    name: string,
    options?: { readonly settle?: Settle },
  ): StoreCollection<T>;
  /**
   * Runs `work` during the start of the process, and retries until the database is available (start-up.ts). Absent: one
   * try.
   */
  whenReachable?<R>(what: string, work: () => Promise<R>): Promise<R>;
  /**
   * Runs `work` on a separate connection without a time limit for calls (index builds). Absent:
   * calls have no time limit.
   */
  forLongWork?<R>(work: (store: Store) => Promise<R>): Promise<R>;
}

/** Opens databases; knows when the server cannot be reached. */
export interface StoreConnection {
  /** The named service's database. Writes are majority-acknowledged and journalled. */
  database(name: string): Store;
  /**
   * Undefined while the store is available; otherwise the reason. Never blocks: it reads the driver's own monitoring.
   */
  notReady(): string | undefined;
  close(): Promise<void>;
}
