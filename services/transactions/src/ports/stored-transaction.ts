import type { Versions } from '../domain/client-version.ts';
import type { OwedCallback } from '../domain/owed.ts';
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
