import type { Idempotency } from '@headset-cloud/rules/idempotency.ts';
import type { Clock } from '@headset-cloud/runtime/clock.ts';
import type { UndoActivation } from '../cancel/activations.ts';
import type { Canceler } from '../cancel/canceler.ts';
import type { Delivery } from '../delivery/delivery.ts';
import type { Outbox } from '../outbox.ts';
import type { OpenLimits } from '../ports/open-limits.ts';
import type { TransactionStore } from '../ports/transaction-store.ts';

/** Dependencies of the handlers. */
export interface HandlerDependencies {
  readonly store: TransactionStore;
  readonly outbox: Outbox;
  readonly limits: OpenLimits;
  readonly canceler: Canceler;
  readonly undoActivation: UndoActivation;
  readonly delivery: Delivery;
  readonly idempotency: Idempotency;
  readonly clock: Clock;
  /** Since when every transaction that has ended is kept; undefined: none was deleted yet. */
  readonly completeFromMs: () => Promise<number | undefined>;
  /** Whether the headset has a session. */
  readonly reachable: (deviceId: string) => Promise<boolean>;
  /** Throws unless the application has the device activated (rule A3). */
  readonly requireActivated: (applicationId: string, deviceId: string) => Promise<void>;
  /** Largest number of re-deliveries (rule B6). */
  readonly retryLimit: number;
  /** Re-deliveries within this time count once; milliseconds. */
  readonly retryIntervalMs: number;
}
