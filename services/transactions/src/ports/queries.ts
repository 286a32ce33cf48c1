import type { OpenTransaction } from '../domain/online.ts';
import type { Status } from '../domain/state.ts';
import type { StoredTransaction } from './stored-transaction.ts';

/** Fields of a transaction in a list, without its operation of up to 1 MiB (rule A22). */
export type ListedTransaction = Pick<
  StoredTransaction,
  'id' | 'deviceId' | 'applicationId' | 'operationId' | 'status' | 'createdAtMs' | 'updatedAtMs'
>;

/** An unprocessed transaction without its operation: a device may have many of up to 1 MiB each. */
export type OpenOfDevice = OpenTransaction & Pick<StoredTransaction, 'applicationId'>;

/** A transaction that its headset may have started. */
export type AcceptedTransaction = Pick<StoredTransaction, 'id' | 'operationId' | 'sentEpoch'>;

export type ListSort = 'transactionId' | 'deviceId' | 'transactionStatus' | 'operationId';

export interface ListQuery {
  readonly applicationId: string;
  readonly deviceId?: string;
  readonly statuses?: readonly Status[];
  readonly sortBy: ListSort;
  readonly descending: boolean;
  readonly skip: number;
  readonly limit: number;
}

/** An operator's search for transactions. */
export interface FindQuery {
  readonly applicationId: string | undefined;
  readonly statuses: readonly Status[];
  /** Only transactions created before this time; milliseconds since 1970. */
  readonly createdBeforeMs: number | undefined;
  readonly limit: number;
}

/** Reads of transactions. */
export interface Queries {
  get(id: number): Promise<StoredTransaction | undefined>;
  getListed(id: number): Promise<ListedTransaction | undefined>;
  getMany(ids: readonly number[]): Promise<StoredTransaction[]>;
  list(query: ListQuery): Promise<ListedTransaction[]>;
  listOfDevice(deviceId: string, openOnly: boolean, limit: number): Promise<ListedTransaction[]>;
  /**
   * Returns transactions in order of id, which is the order of creation; without an application only unprocessed
   * ones.
   */
  find(query: FindQuery): Promise<ListedTransaction[]>;
  openOfDevice(deviceId: string): Promise<OpenOfDevice[]>;
  /**
   * Returns the ids of `of` with a later transaction of the same operation and subject that was accepted or is open.
   */
  supersededOf(of: readonly OpenOfDevice[], deviceId: string): Promise<ReadonlySet<number>>;
  /** Returns the device's accepted transactions; concurrent reads are batched. */
  acceptedOfDevice(deviceId: string): Promise<readonly AcceptedTransaction[]>;
  countOpen(status: Status): Promise<number>;
  /** Counts the open transactions of a device, up to `most`. */
  countOpenOfDevice(deviceId: string, most: number): Promise<number>;
  /** Counts the open transactions of an application, up to `most`. */
  countOpenOfApplication(applicationId: string, most: number): Promise<number>;
  /** Counts the transactions with a requested cancellation that the headset has not answered. */
  countCancelRequests(): Promise<number>;
  /** Counts the transactions that the sweeper has to process, now or later. */
  countDue(): Promise<number>;
  oldestOpenAtMs(status: Status): Promise<number | undefined>;
}
