import type { StoredTransaction } from './stored-transaction.ts';

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
