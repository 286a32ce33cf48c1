import type { Versions } from '../domain/client-version.ts';
import type { PendingCallback } from '../domain/pending-callbacks.ts';
import type { Status } from '../domain/state.ts';

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
  /** Counted retries (rule B6). */
  readonly attempts: number;
  /** Epoch of the newest session that it was dispatched to or reconciled for; 0: none. */
  readonly sentEpoch: number;
  /** Time of the last counted retry, milliseconds since 1970; 0: none. */
  readonly countedAtMs: number;
  /** Advance at the last reconciliation (`advanceOf` in domain/online.ts). */
  readonly countedAdvance: number;
  /** Highest reported progress, 0.0 to 1.0. */
  readonly bestProgress: number;
  /** Message of the cancellation that the headset has to confirm (rule A11); empty: none is requested. */
  readonly cancelRequested: string;
  /** Epoch of the session whose hello showed it as lost (ADR 0057); 0: not lost, or held by the headset again. */
  readonly lostEpoch: number;
  /** Time of the cancel request, milliseconds since 1970; 0: none. */
  readonly cancelRequestedAtMs: number;
  /** Time of the last progress callback; set only while a newer report waits for its interval. */
  readonly progressDeferredSinceMs: number | undefined;
  /** Pending callbacks in order; of progress only the newest. */
  readonly outbox: readonly PendingCallback[];
  readonly outboxSeq: number;
  /** Last reported progress, 0.0 to 1.0. */
  readonly progress: number;
  /** Number of progress callbacks so far. */
  readonly progressReports: number;
  readonly minimum: Versions;
  readonly endMessage: string;
  readonly traceparent: string;
}
