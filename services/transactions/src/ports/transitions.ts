import type { Versions } from '../domain/client-version.ts';
import type { Mark } from '../domain/online.ts';
import type { AppAnswer, End } from '../domain/owed.ts';
import type { StoredTransaction } from './stored-transaction.ts';

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

/** A canceled transaction; without its operation, which its callback does not need. */
export type CanceledTransaction = Omit<StoredTransaction, 'operation'>;

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
