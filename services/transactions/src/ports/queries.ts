import type { OpenTransaction } from '../domain/online.ts';
import type { Status } from '../domain/state.ts';
import type { StoredTransaction } from './stored-transaction.ts';

/** The fields of a transaction in a list; without its operation, which may have 1 MiB (rule A22). */
export type ListedTransaction = Pick<
  StoredTransaction,
  'id' | 'deviceId' | 'applicationId' | 'operationId' | 'status' | 'createdAtMs' | 'updatedAtMs'
>;

/** An unprocessed transaction without its operation, because a device may have many of 1 MiB each. */
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

/** Which transactions operators look for. */
export interface FindQuery {
  readonly applicationId: string | undefined;
  readonly statuses: readonly Status[];
  /** Only such as were created before; milliseconds since 1970. */
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
  /** In the order of ids, which rise with creation; without an application only unprocessed states. */
  find(query: FindQuery): Promise<ListedTransaction[]>;
  openOfDevice(deviceId: string): Promise<OpenOfDevice[]>;
  /**
   * Those of a device's transactions behind which another one of their operation and subject was made that
   * was accepted or is open.
   */
  supersededOf(of: readonly OpenOfDevice[], deviceId: string): Promise<ReadonlySet<number>>;
  /** The device's accepted transactions; reads of one turn are batched. */
  acceptedOfDevice(deviceId: string): Promise<readonly AcceptedTransaction[]>;
  countOpen(status: Status): Promise<number>;
  /** Number of open transactions of a device, but not more than `most`. */
  countOpenOfDevice(deviceId: string, most: number): Promise<number>;
  /** Number of open transactions of an application, but not more than `most`. */
  countOpenOfApplication(applicationId: string, most: number): Promise<number>;
  /** Number of started transactions that headsets were asked to give up and have not answered for. */
  countWishes(): Promise<number>;
  /** Number of transactions that the sweeper has to look at, now or later. */
  countDue(): Promise<number>;
  oldestOpenAtMs(status: Status): Promise<number | undefined>;
}
