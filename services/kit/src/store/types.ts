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
 * The part of the official driver's Collection that services use. A driver `Collection<T>` is one;
 * so is the embedded store's (rule C5). The contract suite holds both to the same answers.
 */
export interface StoreCollection<T extends Document> {
  readonly collectionName: string;
  /**
   * How many batches of single operations are worth having under way at a time (store/coalesced.ts):
   * few where each is a round trip over the network, which is the default; more where it is a call.
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
  /** Answers the document (before or after, by `returnDocument`), null when none matched. */
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
 * When a write resolves (ADR 0012): 'durable', the default, when it survives the loss of power;
 * 'in-order' as soon as nothing that resolves later can be durable without it. What was written
 * in order may only be acted on outside the platform after a later, durable write. Only where a
 * store and the log are one journal is there a difference: elsewhere everything is durable.
 */
export type Settle = 'durable' | 'in-order';

/** One service's database: the driver's `Db`, or the embedded one. */
export interface Store {
  /** With `settle` 'in-order' reads, too, answer what is not durable yet. */
  collection<T extends Document = Document>(
    name: string,
    options?: { readonly settle?: Settle },
  ): StoreCollection<T>;
  /** While the process starts: tries until the database is there (start-up.ts). Absent: tries once. */
  whenReachable?<R>(what: string, work: () => Promise<R>): Promise<R>;
}

/** Opens databases; knows when the server cannot be reached. */
export interface StoreConnection {
  /** The named service's database. Writes are majority-acknowledged and journalled. */
  database(name: string): Store;
  /** Undefined while it answers; otherwise why not. Never blocks: the driver's own monitoring tells. */
  notReady(): string | undefined;
  close(): Promise<void>;
}

/** Indexes stand beside each store's adapter and are created at start, once the database is there. */
export async function ensureIndexes(
  store: Store,
  indexes: Readonly<Record<string, IndexDescription[]>>,
): Promise<void> {
  const create = async (): Promise<void> => {
    for (const [name, list] of Object.entries(indexes)) {
      if (list.length > 0) await store.collection(name).createIndexes(list);
    }
  };
  await (store.whenReachable ? store.whenReachable('the indexes', create) : create());
}
