import type { ConnectivityFinding } from './forms/connectivity.ts';

/** Kinds of callbacks in the order in which a transaction sends them; progress any number of times. */
export type CallbackKind = 'accepted' | 'progress' | 'processed' | 'canceled' | 'answer';

/** Callback in a transaction's outbox that is not yet known to be in the log. Stored in this shape. */
export interface PendingCallback {
  readonly kind: CallbackKind;
  /** Milliseconds since 1970; becomes the body's timestamp. */
  readonly atMs: number;
  /**
   * Time at which its change was stored, by the cloud's clock; milliseconds since 1970. The notifier's delivery time
   * starts here, not at the headset's time (rule B10).
   */
  readonly takenInAtMs?: number;
  readonly success: boolean;
  readonly message: string;
  /** Only for the answer of an app. */
  readonly customData?: string;
  /** Only for a reported end of a connectivity operation. */
  readonly connectivity?: ConnectivityFinding;
  /** Only for progress. */
  readonly step?: ProgressStep;
}

/** One report of progress. */
export interface ProgressStep {
  /** Id of the headset's report; a lower id is older. */
  readonly reportId: number;
  /** Number of the report within the transaction, from 1. */
  readonly number: number;
  /** 0.0 to 1.0. */
  readonly value: number;
}

/** End of a transaction. */
export interface End {
  readonly success: boolean;
  readonly message: string;
  /** Milliseconds since 1970. */
  readonly atMs: number;
  readonly connectivity?: ConnectivityFinding;
}

/** Answer of the called app. */
export interface AppAnswer {
  readonly success: boolean;
  readonly message: string;
  readonly customData: string;
  /** Milliseconds since 1970. */
  readonly atMs: number;
}
