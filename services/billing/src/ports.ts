import type { LifecycleChange } from './domain/activity.ts';
import type { Month, Span } from './domain/month.ts';
import type { Plans, PlansEntry } from './domain/plans.ts';
import type { Usage } from './domain/usage.ts';

/** Metered usage, unique by id. */
export interface UsageStore {
  /** Keeps what is new; answers what was known already with other content, by id. */
  record(usages: readonly Usage[]): Promise<{ added: number; conflicting: ReadonlySet<string> }>;
  /** All that may lie in a month, in any order, and a little more. */
  around(
    applicationId: string,
    month: Month,
  ): AsyncIterable<Pick<Usage, 'deviceId' | 'kind' | 'startedAtMs' | 'durationMs'>>;
  /** Those that lie in the month, oldest first. */
  list(
    applicationId: string,
    month: Month,
    span: Span,
    page: { readonly limit: number; readonly offset: number },
  ): Promise<Usage[]>;
}

/** Activations and deactivations, as they were heard of. */
export interface ActivityStore {
  /** Idempotent by device, epoch and kind; in any order. */
  record(changes: readonly LifecycleChange[]): Promise<void>;
  /** All of an application, by device and epoch. */
  changes(applicationId: string): AsyncIterable<LifecycleChange>;
}

/** Plans of devices with an application, and their history. */
export interface PlansStore {
  /** From now on. */
  put(applicationId: string, deviceId: string, plans: Plans, nowMs: number): Promise<void>;
  /** By device. */
  histories(
    applicationId: string,
  ): AsyncIterable<{ readonly deviceId: string; readonly history: readonly PlansEntry[] }>;
}
