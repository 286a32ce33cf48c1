import type { ConnectivityFinding } from './forms/connectivity.ts';

/** Callbacks in the order in which they go out for one transaction; progress any number of times. */
export type CallbackKind = 'accepted' | 'progress' | 'processed' | 'canceled' | 'answer';

/** One callback a transaction owes, as it waits in the transaction's outbox. */
export interface OwedCallback {
  readonly kind: CallbackKind;
  /** Milliseconds since 1970; becomes the body's timestamp. */
  readonly atMs: number;
  /**
   * When the change that caused it was made, by the cloud's clock; set when it is stored. The notifier's
   * delivery time counts from here, not from the headset's time (rule B10).
   */
  readonly takenInAtMs?: number;
  readonly success: boolean;
  readonly message: string;
  /** Only for an app's own answer. */
  readonly customData?: string;
  /** Only for the end of a connectivity operation that the headset reported. */
  readonly connectivity?: ConnectivityFinding;
  /** Only for progress. */
  readonly step?: ProgressStep;
}

/** One report of progress. */
export interface ProgressStep {
  /** Id of the headset's report; a lower id is older. */
  readonly reportId: number;
  /** Counts the transaction's reports of progress, from 1. */
  readonly number: number;
  /** 0.0 to 1.0. */
  readonly value: number;
}

/** How a transaction ended. */
export interface End {
  readonly success: boolean;
  readonly message: string;
  /** When, milliseconds since 1970. */
  readonly atMs: number;
  readonly connectivity?: ConnectivityFinding;
}

/** A called app's own answer. */
export interface AppAnswer {
  readonly success: boolean;
  readonly message: string;
  readonly customData: string;
  /** When, milliseconds since 1970. */
  readonly atMs: number;
}
