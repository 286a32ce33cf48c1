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
  /** A headset with an older client or firmware may not start it; empty: any may. */
  readonly minimum: Versions;
  /** Ends at once, as a failure with this message. */
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
  /** When the newest re-delivery counted; 0 if none did. */
  readonly countedAtMs: number;
  /** How far it had come when that was judged last. */
  readonly countedAdvance: number;
  /** The highest progress that was ever reported, 0.0 to 1.0. */
  readonly bestProgress: number;
  /** Message of the cancellation that the headset is asked for (rule A11); empty: none. */
  readonly wish: string;
  readonly wishedAtMs: number;
  /** When the last callback of progress was owed, where a newer report waits for its interval. */
  readonly progressDeferredSinceMs: number | undefined;
  /** Callbacks not known to be in the log, in their order; of progress the newest only. */
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

/** What a list shows of a transaction: nothing of its operation, which may have 1 MiB (rule A22). */
export type ListedTransaction = Pick<
  StoredTransaction,
  'id' | 'deviceId' | 'applicationId' | 'operationId' | 'status' | 'createdAtMs' | 'updatedAtMs'
>;

/** A canceled transaction: its callback needs nothing of its operation. */
export type CanceledTransaction = Omit<StoredTransaction, 'operation'>;

/** An unprocessed transaction without its operation: a device may have any number of 1 MiB each. */
export type OpenOfDevice = OpenTransaction & Pick<StoredTransaction, 'applicationId'>;

/** Everything below is over for the device (rule B4). */
export interface Floor {
  readonly epoch: number;
  readonly reason: 'deactivation' | 'reset';
}

/** Of a device's operations. */
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

/** How far a headset says an update is. */
export interface ReportedProgress {
  /** Of two reports the one with the lower id is older. */
  readonly reportId: number;
  /** 0.0 to 1.0. */
  readonly value: number;
  readonly message: string;
  /** When, milliseconds since 1970. */
  readonly atMs: number;
}

/** The headset that reports something of a transaction. */
export interface Reporter {
  readonly deviceId: string;
  /** The newest activation epoch that it knew when that happened; 0: none. */
  readonly epoch: number;
}

/** Who asks for a start. */
export interface AskingSession {
  readonly deviceId: string;
  readonly epoch: number;
  /** The minimum versions that this session's headset was found to meet; absent: none were looked at. */
  readonly meets?: Versions;
}

/** How a judgement saw a transaction that it cancels: one that has moved since is judged anew (rule B1). */
export interface Seen {
  readonly accepted: boolean;
  /** The session that is judged: what a newer one has is not its matter. */
  readonly epoch: number;
}

/** Raises a device's head; the answer says whether a create of that activation is still allowed. */
export type HeadRaise = 'raised' | 'id-too-low' | 'epoch-too-old';

/** Draws the ids of transactions; those of a device rise (rule C3). */
export interface TransactionIds {
  /** An id above everything created for the device so far. */
  drawIdFor(deviceId: string): Promise<number>;
  drawId(): Promise<number>;
  dropIdBlock(): void;
}

/** The heads of devices (rule B4), with the firmware updates that were asked for. */
export interface Heads {
  raiseHead(
    deviceId: string,
    raise: { id: number; epoch: number; mustRise: boolean; floor?: Floor },
    now: number,
  ): Promise<HeadRaise>;
  /** Heads of devices; coalesced with others asked in the same turn. */
  headOf(deviceId: string): Promise<Head>;
  floorOf(deviceId: string): Promise<Floor | undefined>;
  /** The firmware updates that were asked for; `changes` names this state of it. */
  firmwareQueue(deviceId: string): Promise<{
    readonly queued: readonly QueuedFirmware[];
    readonly changes: number;
    readonly floorEpoch: number;
  }>;
  /** Only as it was seen; false: it has changed since. */
  replaceFirmwareQueue(
    deviceId: string,
    changes: number,
    queued: readonly QueuedFirmware[],
  ): Promise<boolean>;
  claimDueFloors(now: number, until: number, limit: number): Promise<string[]>;
  clearFloorDue(deviceId: string, floorEpoch: number): Promise<void>;
}

/**
 * What changes a transaction. Each is one conditional update of one document; the answer is the document after
 * the change, null where its condition did not hold.
 */
export interface Transitions {
  /** Undefined when the id exists already. */
  insert(transaction: NewTransaction, now: number): Promise<StoredTransaction | undefined>;
  /** created → published, with the session it was written to; lazily, many at a time. */
  markPublished(marks: readonly { id: number; sentEpoch: number }[], now: number): Promise<void>;
  /** What a session's judgement decided, with its epoch; created → published. */
  markJudged(marks: readonly Mark[], sessionEpoch: number, now: number): Promise<void>;
  /**
   * The start permit, given to a session; nothing below the floor gets one, nothing that was sent to
   * a newer session or judged for one (rule B1), and what needs minimum versions only a
   * session that is known to meet them.
   */
  accept(
    id: number,
    session: AskingSession,
    floorEpoch: number,
    now: number,
  ): Promise<StoredTransaction | null>;
  /** Ends what a headset asked to start, but may not. */
  refuse(
    id: number,
    session: AskingSession,
    floorEpoch: number,
    message: string,
    now: number,
  ): Promise<StoredTransaction | null>;
  /**
   * What headsets report changes a transaction only where it happened while the application had the
   * device without a break since (rule A7): so too `progress`, `revoked` and `answer`.
   */
  finish(id: number, reporter: Reporter, end: End, now: number): Promise<StoredTransaction | null>;
  /**
   * Only of an accepted update, and only what is newer than the last. A report that comes too soon
   * after the last callback is deferred (rule A9).
   */
  progress(
    id: number,
    reporter: Reporter,
    progress: ReportedProgress,
    now: number,
  ): Promise<StoredTransaction | null>;
  /** The deferred report's interval is over: its callback is owed. Null where none waits any more. */
  oweProgress(id: number, now: number): Promise<StoredTransaction | null>;
  /** The headset has left what was wished to be canceled; or, unasked, something that it was to do. */
  revoked(id: number, reporter: Reporter, atMs: number, now: number): Promise<StoredTransaction | null>;
  /** Ends an accepted reset as done, unless it was written to session `epoch` or a later one. */
  finishReset(id: number, epoch: number, end: End, now: number): Promise<StoredTransaction | null>;
  /** Only of a command. */
  answer(id: number, reporter: Reporter, answer: AppAnswer, now: number): Promise<StoredTransaction | null>;
  /** Keeps what changes nothing any more with its transaction, once; nobody is told. */
  recordLate(
    id: number,
    deviceId: string,
    end: { success: boolean; message: string },
    now: number,
  ): Promise<void>;
  /** Cancels those that are still open, and as they were seen; answers what it canceled. */
  cancelByPlatform(
    ids: readonly number[],
    message: string,
    stamp: string,
    now: number,
    seen?: Seen,
  ): Promise<CanceledTransaction[]>;
  /** Cancels those of `ids` that the request may cancel; answers what bears its stamp. */
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

/** What is read of transactions. */
export interface Queries {
  get(id: number): Promise<StoredTransaction | undefined>;
  getListed(id: number): Promise<ListedTransaction | undefined>;
  getMany(ids: readonly number[]): Promise<StoredTransaction[]>;
  list(query: ListQuery): Promise<ListedTransaction[]>;
  listOfDevice(deviceId: string, openOnly: boolean, limit: number): Promise<ListedTransaction[]>;
  openOfDevice(deviceId: string): Promise<OpenOfDevice[]>;
  /** The device's accepted resets; coalesced with others asked in the same turn. */
  acceptedResets(deviceId: string): Promise<{ readonly id: number; readonly sentEpoch: number }[]>;
  countOpen(status: Status): Promise<number>;
  /** Transactions that headsets are asked to leave, and have not answered for. */
  countWishes(): Promise<number>;
  /** Transactions that the sweeper has to look at, now or later. */
  countDue(): Promise<number>;
  oldestOpenAtMs(status: Status): Promise<number | undefined>;
}

/** What is owed to the log, and when the sweeper looks at it (rule B9). */
export interface OutboxStore {
  /** `deferred`: a report of progress still waits for its time. */
  clearOutbox(published: readonly { id: number; outboxSeq: number; deferred: boolean }[]): Promise<void>;
  /** When the sweeper has to look at it again. */
  setDue(id: number, outboxSeq: number, at: number): Promise<void>;
  /** Claims what is due until `until`, so that other sweepers leave it. */
  claimDue(now: number, until: number, limit: number): Promise<StoredTransaction[]>;
}

/** What the service needs of its database. */
export interface TransactionStore extends TransactionIds, Heads, Transitions, Queries, OutboxStore {}
