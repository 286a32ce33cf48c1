import type { Versions } from '../domain/client-version.ts';
import type { Mark } from '../domain/online.ts';
import type { AppAnswer, End } from '../domain/pending-callbacks.ts';
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
  /** A headset with an older client or firmware must not start it; empty: no minimum. */
  readonly minimum: Versions;
  /** Set: the transaction fails at once with this message. */
  readonly failMessage?: string;
}

/** A canceled transaction without its operation, which its callback does not need. */
export type CanceledTransaction = Omit<StoredTransaction, 'operation'>;

/** A headset's report of an update's progress. */
export interface ReportedProgress {
  /** Rises with each report of the headset. */
  readonly reportId: number;
  /** 0.0 to 1.0. */
  readonly value: number;
  readonly message: string;
  /** Milliseconds since 1970. */
  readonly atMs: number;
}

/** The headset that reports something about a transaction. */
export interface Reporter {
  readonly deviceId: string;
  /** The newest activation epoch that the headset knew when the reported event happened; 0: none. */
  readonly epoch: number;
}

/** The session that requests a start grant. */
export interface RequestingSession {
  readonly deviceId: string;
  readonly epoch: number;
  /** The minimum versions that this session's headset is known to meet; absent: not checked. */
  readonly meets?: Versions;
}

/**
 * State in which a reconciliation read a transaction that it cancels. If the state has changed, the transaction is not
 * canceled and the reconciliation is repeated (rule B1).
 */
export interface ReadState {
  readonly accepted: boolean;
  /** A transaction that a newer session than this one has is not canceled. */
  readonly epoch: number;
  /** Set: canceled only while the hello of this session shows it as lost. */
  readonly lostEpoch?: number;
}

/**
 * Changes of transactions. Each change is a conditional update of one document. Methods for one transaction return it
 * after the change, or null if the condition did not hold.
 */
export interface Transitions {
  /** Stores a new transaction. Undefined: the id already exists. */
  insert(transaction: NewTransaction, now: number): Promise<StoredTransaction | undefined>;
  /** created → published, with the epoch of the session that has it. Written in batches, after the dispatch. */
  markPublished(marks: readonly { id: number; sentEpoch: number }[], now: number): Promise<void>;
  /** Writes the decisions of a reconciliation, with the session epoch; created → published. */
  markReconciled(marks: readonly Mark[], sessionEpoch: number, now: number): Promise<void>;
  /**
   * Gives the start grant to a session: created or published → accepted. Not for a transaction below the minimum
   * activation epoch, or that a newer session has (rule B1). If the transaction has minimum versions, `session.meets`
   * must equal them.
   */
  accept(
    id: number,
    session: RequestingSession,
    minActivationEpoch: number,
    now: number,
  ): Promise<StoredTransaction | null>;
  /**
   * Ends a transaction whose start was requested by a headset that is too old. An accepted transaction is ended only
   * while the hello of session `lostEpoch` shows it as lost.
   */
  rejectStart(
    id: number,
    session: RequestingSession,
    minActivationEpoch: number,
    { message, lostEpoch }: { readonly message: string; readonly lostEpoch: number },
    now: number,
  ): Promise<StoredTransaction | null>;
  /**
   * Ends a transaction by its result. A report changes a transaction only if its application had the device without
   * interruption until the reported event (rule A7). The same condition holds for `progress`, `revoked` and `answer`.
   */
  finish(id: number, reporter: Reporter, end: End, now: number): Promise<StoredTransaction | null>;
  /**
   * Stores the progress of an accepted update if it is newer than the last progress. A report too soon after the last
   * callback is deferred (rule A9).
   */
  progress(
    id: number,
    reporter: Reporter,
    progress: ReportedProgress,
    now: number,
  ): Promise<StoredTransaction | null>;
  /** Makes the callback of a deferred report pending, when its interval is over. Null: no report is deferred. */
  publishDeferredProgress(id: number, now: number): Promise<StoredTransaction | null>;
  /** Ends a transaction that the headset has given up: canceled after a `revoke`, otherwise failed. */
  revoked(id: number, reporter: Reporter, atMs: number, now: number): Promise<StoredTransaction | null>;
  /**
   * Marks accepted transactions as lost by the hello of session `epoch` (ADR 0057), unless this session or a newer
   * one has them.
   */
  markLost(ids: readonly number[], epoch: number): Promise<void>;
  /**
   * Removes the lost mark of an accepted transaction that the session has. False: a newer session has it, it has ended,
   * or `lostEpoch` has changed.
   */
  markFound(id: number, session: RequestingSession, lostEpoch: number): Promise<boolean>;
  /** Ends an accepted reset as done, unless session `epoch` or a newer one has it. */
  finishReset(id: number, epoch: number, end: End, now: number): Promise<StoredTransaction | null>;
  /** Stores the answer of the called app; only for operations with such an answer. */
  answer(id: number, reporter: Reporter, answer: AppAnswer, now: number): Promise<StoredTransaction | null>;
  /** Cancels open transactions that are still in the state `readState`; returns the canceled ones. */
  cancelByPlatform(
    ids: readonly number[],
    message: string,
    stamp: string,
    now: number,
    readState?: ReadState,
  ): Promise<CanceledTransaction[]>;
  /** Cancels those of `ids` that the request may cancel; returns all transactions with its stamp. */
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
