import type { PendingAuditRecord } from '@headset-cloud/rules/audit/record.ts';
import type { LifecycleChange } from './domain/activity.ts';
import type { Bill } from './domain/bill.ts';
import type { Month, Span } from './domain/month.ts';
import type { Plans, PlansEntry } from './domain/plans.ts';
import type { Usage } from './domain/usage.ts';

/** Metered usage, unique by id. */
export interface UsageStore {
  /**
   * Stores new usage. Returns the ids that were already stored with other content. `auditRecord` belongs to an
   * operator's change; it is written in the same write.
   */
  record(
    usages: readonly Usage[],
    auditRecord?: PendingAuditRecord,
  ): Promise<{ added: number; conflicting: ReadonlySet<string> }>;
  /** All usage of the month, in any order. May also return usage of adjacent months. */
  around(
    applicationId: string,
    month: Month,
  ): AsyncIterable<Pick<Usage, 'deviceId' | 'kind' | 'startedAtMs' | 'durationMs'>>;
  /** A page of the usage of the month, oldest first. */
  list(
    applicationId: string,
    month: Month,
    span: Span,
    page: { readonly limit: number; readonly offset: number },
  ): Promise<Usage[]>;
}

/** Activations and deactivations, as consumed from events. */
export interface ActivityStore {
  /** Stores changes. Idempotent by device, epoch and kind. The order of the changes does not matter. */
  record(changes: readonly LifecycleChange[]): Promise<void>;
  /** All changes of an application, by device and activation epoch. */
  changes(applicationId: string): AsyncIterable<LifecycleChange>;
}

/** Plans of devices with an application, and their history. */
export interface PlansStore {
  /** Stores plans that are in force from `nowMs`. */
  put(
    applicationId: string,
    deviceId: string,
    plans: Plans,
    nowMs: number,
    record: PendingAuditRecord,
  ): Promise<void>;
  /** Plan histories of the application's devices, ordered by device. */
  histories(
    applicationId: string,
  ): AsyncIterable<{ readonly deviceId: string; readonly history: readonly PlansEntry[] }>;
}

/** Stored bills of months whose usage is or will be deleted. Later records do not change them (ADR 0045). */
export interface FrozenBills {
  get(applicationId: string, month: Month): Promise<Bill | undefined>;
  /** Stores a bill. If the application's month has a bill already, that bill stays. */
  freeze(applicationId: string, month: Month, bill: Bill): Promise<void>;
}
