import type { StoredTransaction } from './stored-transaction.ts';

/** A transaction whose callbacks are in the log. */
export interface Published {
  readonly id: number;
  /** The outbox is cleared only if its sequence number is still this one. */
  readonly outboxSeq: number;
  /** Whether a progress report still waits for its interval. */
  readonly deferred: boolean;
  /** Replaces the operation of an ended transaction. */
  readonly operation?: Uint8Array | undefined;
}

/** Pending callbacks of transactions, and the time at which the sweeper processes them (rule B9). */
export interface OutboxStore {
  clearOutbox(published: readonly Published[]): Promise<void>;
  /** Sets the time at which the sweeper processes the transaction again. */
  setDue(id: number, outboxSeq: number, at: number): Promise<void>;
  /** Claims due transactions until `until`, so that other sweepers skip them. */
  claimDue(now: number, until: number, limit: number): Promise<StoredTransaction[]>;
  /** Sets due times after `latest` to now: such a time was written by a clock that was ahead. */
  correctDueTimes(latest: number, now: number): Promise<void>;
}
