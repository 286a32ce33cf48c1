import type { Versions } from './domain/client-version.ts';
import type { QueuedFirmware } from './domain/firmware.ts';
import type { Mark, OpenTransaction } from './domain/online.ts';
import type { AppAnswer, End, OwedCallback } from './domain/owed.ts';
import type { Status } from './domain/state.ts';

/** A transaction to be stored. */
export interface NewTransaction {
  readonly id: number;
  readonly deviceId: string;
  readonly applicationId: string;
  readonly operationId: string;
  readonly subject: string;
  readonly activationEpoch: number;
  /** Bytes of the protobuf Operation. */
  readonly operation: Uint8Array;
  readonly traceparent: string;
  /** A headset with an older client or firmware may not start it; empty: no minimum. */
  readonly minimum: Versions;
  /** Set: the transaction ends at once, as a failure with this message. */
  readonly failMessage?: string;
}

/** A stored transaction. */
export interface StoredTransaction {
  readonly id: number;
  readonly deviceId: string;
  readonly applicationId: string;
  readonly operationId: string;
  readonly subject: string;
  readonly status: Status;
  readonly activationEpoch: number;
  readonly operation: Uint8Array;
  readonly createdAtMs: number;
  readonly updatedAtMs: number;
  /** Re-deliveries that counted (rule B6). */
  readonly attempts: number;
  readonly sentEpoch: number;
  /** When a re-delivery last counted; 0 if none did. */
  readonly countedAtMs: number;
  /** How far it had come at the last judgement. */
  readonly countedAdvance: number;
  /** The highest progress that was ever reported, 0.0 to 1.0. */
  readonly bestProgress: number;
  /** Message of the cancellation that waits for the headset's consent (rule A11); empty: none. */
  readonly wish: string;
  /** The session whose hello showed it as lost (ADR 0057); 0: none did, or the headset has it again. */
  readonly lostEpoch: number;
  readonly wishedAtMs: number;
  /** When the last progress callback was owed; set only while a newer report waits for its interval. */
  readonly progressDeferredSinceMs: number | undefined;
  /** Callbacks not known to be in the log, in order; of progress only the newest. */
  readonly outbox: readonly OwedCallback[];
  readonly outboxSeq: number;
  /** The last known progress, 0.0 to 1.0. */
  readonly progress: number;
  /** Reports of progress so far. */
  readonly progressReports: number;
  readonly minimum: Versions;
  readonly endMessage: string;
  readonly traceparent: string;
}

/** The fields of a transaction in a list; without its operation, which may have 1 MiB (rule A22). */
export type ListedTransaction = Pick<
  StoredTransaction,
  'id' | 'deviceId' | 'applicationId' | 'operationId' | 'status' | 'createdAtMs' | 'updatedAtMs'
>;

/** A canceled transaction; without its operation, which its callback does not need. */
export type CanceledTransaction = Omit<StoredTransaction, 'operation'>;

/** An unprocessed transaction without its operation, because a device may have many of 1 MiB each. */
export type OpenOfDevice = OpenTransaction & Pick<StoredTransaction, 'applicationId'>;

/** A transaction that its headset may have started. */
export type AcceptedTransaction = Pick<StoredTransaction, 'id' | 'operationId' | 'sentEpoch'>;

/** The device's floor: transactions of older activation epochs are over (rule B4). */
export interface Floor {
  readonly epoch: number;
  readonly reason: 'deactivation' | 'reset';
}

/** The head of a device (rule B4). */
export interface Head {
  readonly floor: Floor | undefined;
  /** The highest id so far; 0 if none. */
  readonly lastId: number;
  /** The id before that one, in the order of creation; 0: it is the first. */
  before(id: number): number;
}

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

/** A headset's report of an update's progress. */
export interface ReportedProgress {
  /** Rises: of two reports the one with the lower id is older. */
  readonly reportId: number;
  /** 0.0 to 1.0. */
  readonly value: number;
  readonly message: string;
  /** When, milliseconds since 1970. */
  readonly atMs: number;
}

/** The headset that reports something about a transaction. */
export interface Reporter {
  readonly deviceId: string;
  /** The newest activation epoch that the headset knew when the reported event happened; 0: none. */
  readonly epoch: number;
}

/** The session that asks for a start permit. */
export interface AskingSession {
  readonly deviceId: string;
  readonly epoch: number;
  /** The minimum versions that this session's headset is known to meet; absent: not checked. */
  readonly meets?: Versions;
}

/**
 * The state in which a judgement read a transaction that it cancels: if it has changed since, it is judged
 * again (rule B1).
 */
export interface Seen {
  readonly accepted: boolean;
  /** Transactions that were sent to a newer session than this one are not canceled. */
  readonly epoch: number;
  /** Set: only while it is lost, by the hello of this session. */
  readonly lostEpoch?: number;
}

/** Result of raising a device's head: whether a create with that id and activation epoch is allowed. */
export type HeadRaise = 'raised' | 'id-too-low' | 'epoch-too-old';

/**
 * Limit of the open transactions of a device or an application (ADR 0040). It holds for all processes together within a
 * tenth of the limit for each process.
 */
export interface OpenLimit {
  /** Admits one more. Undefined: there are `most`. Call the result when the create has ended. */
  admit(key: string, most: number): Promise<((created: boolean) => void) | undefined>;
  isFull(key: string, most: number): Promise<boolean>;
}

export interface OpenLimits {
  readonly ofDevice: OpenLimit;
  readonly ofApplication: OpenLimit;
}

/** Draws the ids of transactions; those of a device rise (rule C3). */
export interface TransactionIds {
  /** An id above everything created for the device so far. */
  drawIdFor(deviceId: string): Promise<number>;
  drawId(): Promise<number>;
  /** Makes the next ids higher than those of other processes, if `id` is too low for its device. */
  dropIdBlockOf(id: number): void;
}

/** The heads of devices (rule B4), with the firmware updates that were asked for. */
export interface Heads {
  raiseHead(
    deviceId: string,
    raise: { id: number; epoch: number; mustRise: boolean; floor?: Floor },
    now: number,
  ): Promise<HeadRaise>;
  /** The head of a device; reads of one turn are batched. */
  headOf(deviceId: string): Promise<Head>;
  floorOf(deviceId: string): Promise<Floor | undefined>;
  /** Raises the floor without a transaction, unless the device's activation epoch is that high already. */
  raiseFloor(deviceId: string, floor: Floor, now: number): Promise<void>;
  /** The requested firmware updates; `changes` is the version of the list. */
  firmwareQueue(deviceId: string): Promise<{
    readonly queued: readonly QueuedFirmware[];
    readonly changes: number;
    readonly floorEpoch: number;
  }>;
  /** Replaces the list if it is unchanged; false: it has changed since it was read. */
  replaceFirmwareQueue(
    deviceId: string,
    changes: number,
    queued: readonly QueuedFirmware[],
  ): Promise<boolean>;
  claimDueFloors(now: number, until: number, limit: number): Promise<string[]>;
  /** Makes floors due now that are due after `latest`; a wrong clock wrote such a time. */
  recallFloors(latest: number, now: number): Promise<void>;
  clearFloorDue(deviceId: string, floorEpoch: number): Promise<void>;
}

/**
 * Changes of a transaction. Each is one conditional update of one document. It returns the document after
 * the change, or null if the condition did not hold.
 */
export interface Transitions {
  /** Undefined when the id exists already. */
  insert(transaction: NewTransaction, now: number): Promise<StoredTransaction | undefined>;
  /** created → published, with the epoch of the session it was sent to; written late, many at a time. */
  markPublished(marks: readonly { id: number; sentEpoch: number }[], now: number): Promise<void>;
  /** Writes the decisions of a session's judgement, with the session epoch; created → published. */
  markJudged(marks: readonly Mark[], sessionEpoch: number, now: number): Promise<void>;
  /**
   * Gives the start permit to a session. A transaction gets none if it is below the floor, or was sent to a
   * newer session or judged for one (rule B1). If it needs minimum versions, only a session that is known
   * to meet them gets the permit.
   */
  accept(
    id: number,
    session: AskingSession,
    floorEpoch: number,
    now: number,
  ): Promise<StoredTransaction | null>;
  /**
   * Ends a transaction that the headset asked to start but is too old for; an accepted one only while it is
   * lost, by the hello of session `lostEpoch`.
   */
  refuse(
    id: number,
    session: AskingSession,
    floorEpoch: number,
    { message, lostEpoch }: { readonly message: string; readonly lostEpoch: number },
    now: number,
  ): Promise<StoredTransaction | null>;
  /**
   * Ends a transaction by its result. A report changes a transaction only if the application that made it
   * had the device without a break until the reported event (rule A7); the same holds for `progress`,
   * `revoked` and `answer`.
   */
  finish(id: number, reporter: Reporter, end: End, now: number): Promise<StoredTransaction | null>;
  /**
   * Stores progress of an accepted update if it is newer than the last. A report that comes too soon after
   * the last callback is deferred (rule A9).
   */
  progress(
    id: number,
    reporter: Reporter,
    progress: ReportedProgress,
    now: number,
  ): Promise<StoredTransaction | null>;
  /** Owes the callback of a deferred report whose interval is over. Null if none waits any more. */
  oweProgress(id: number, now: number): Promise<StoredTransaction | null>;
  /** The headset has given up a transaction, as asked by a revoke or without being asked. */
  revoked(id: number, reporter: Reporter, atMs: number, now: number): Promise<StoredTransaction | null>;
  /**
   * Writes that the hello of session `epoch` showed accepted transactions as lost (ADR 0057), unless they
   * were sent to that session or a later one.
   */
  markLost(ids: readonly number[], epoch: number): Promise<void>;
  /**
   * Writes that a session has an accepted one, which is lost no more. False: it was sent to a newer session, has
   * ended, or `lostEpoch` is no longer what was read.
   */
  found(id: number, session: AskingSession, lostEpoch: number): Promise<boolean>;
  /** Ends an accepted reset as done, unless it was written to session `epoch` or a later one. */
  finishReset(id: number, epoch: number, end: End, now: number): Promise<StoredTransaction | null>;
  /** Stores the app's own answer; only for a command. */
  answer(id: number, reporter: Reporter, answer: AppAnswer, now: number): Promise<StoredTransaction | null>;
  /** Cancels those that are still open and unchanged since they were read; returns the canceled ones. */
  cancelByPlatform(
    ids: readonly number[],
    message: string,
    stamp: string,
    now: number,
    seen?: Seen,
  ): Promise<CanceledTransaction[]>;
  /** Cancels those of `ids` that the request may cancel; returns all that carry its stamp. */
  cancelByRequest(
    request: {
      applicationId: string;
      deviceId: string;
      ids: readonly number[];
      stamp: string;
      reachable: boolean;
    },
    now: number,
  ): Promise<CanceledTransaction[]>;
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

/** That a document's callbacks are in the log. */
export interface Published {
  readonly id: number;
  /** The outbox is cleared only if it is still this one. */
  readonly outboxSeq: number;
  /** A progress report still waits for its interval. */
  readonly deferred: boolean;
  /** In place of the operation, of a transaction that has ended. */
  readonly operation?: Uint8Array | undefined;
}

/** The outbox: callbacks that are owed to the log, and when the sweeper looks at them (rule B9). */
export interface OutboxStore {
  clearOutbox(published: readonly Published[]): Promise<void>;
  /** Sets when the sweeper has to look at it again. */
  setDue(id: number, outboxSeq: number, at: number): Promise<void>;
  /** Claims due transactions until `until`, so that other sweepers skip them. */
  claimDue(now: number, until: number, limit: number): Promise<StoredTransaction[]>;
  /** Makes transactions due now that are due after `latest`; a wrong clock wrote such a time. */
  recall(latest: number, now: number): Promise<void>;
}

/** Everything the service needs from its database. */
/** A device's transactions, a page at a time, whatever their application. */
export interface ForgetPage {
  /** Ended, and nothing is owed. */
  readonly settled: readonly number[];
  readonly open: readonly number[];
  /** Ended, with callbacks that are not known to be in the log. */
  readonly owing: number;
  /** Where the next page begins; empty: there is none. */
  readonly next: string;
}

/** What an operator has forgotten (ADR 0047). */
export interface ForgetStore {
  page(deviceId: string, after: string): Promise<ForgetPage>;
  /** Deletes those of them that are the device's, have ended and owe nothing; answers how many. */
  remove(deviceId: string, ids: readonly number[]): Promise<number>;
  /** An application's, of all its devices, behind the id `after`; `next` 0: there are no more. */
  pageOfApplication(
    applicationId: string,
    after: number,
  ): Promise<Omit<ForgetPage, 'next'> & { readonly next: number }>;
  removeOfApplication(applicationId: string, ids: readonly number[]): Promise<number>;
}

export interface TransactionStore extends TransactionIds, Heads, Transitions, Queries, OutboxStore {}
