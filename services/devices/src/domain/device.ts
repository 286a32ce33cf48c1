import type { EpochSpan } from './association.ts';

/**
 * The platform's decisions about a device. They are in one document that changes by one conditional update at a time.
 * Transaction ids order the changes: each change has a higher id than the previous change.
 */
export interface DeviceState {
  /** IMEI, 15 digits. */
  readonly deviceId: string;
  /** Rises with each activation, deactivation and reset; 0 before the first. */
  readonly epoch: number;
  /** The newest activation's, deactivation's or reset's transaction. */
  readonly lastTransactionId: number;
  /** The newest transactions that took effect, to recognize repeats. */
  readonly recent: readonly number[];
  /** Absent if the device is not activated. */
  readonly activation?: Activation;
  /** Unfinished work in other documents, in order. */
  readonly pending: readonly Pending[];
  /**
   * Unfinished work of an undone activation, done after all of `pending`. No activation begins before this work is
   * done. A separate field, because release 0.1.0 cannot read a new kind of `pending`.
   */
  readonly undo?: Undo;
  /** Lifecycle events that may not be in the log yet, in order. */
  readonly lifecycle: readonly LifecycleChange[];
}

export interface Activation {
  readonly applicationId: string;
  readonly clientId: string;
  /** Sealed, base64. */
  readonly clientSecret?: string;
  readonly epoch: number;
  /** The activation epoch since which this application has had the device activated without a break. */
  readonly sinceEpoch: number;
  /** Time of `sinceEpoch`; milliseconds since 1970. Absent if not known: before release 0.2.0. */
  readonly sinceMs?: number;
  /**
   * Number of the slot that the activation uses, from 0. No other device of the application has the same number (ADR
   * 0011). Absent: release 0.1.0 activated the device, and no number has been assigned since.
   */
  readonly slot?: number;
  /**
   * Earlier epochs of this activation, before restores of the database (ADR 0035). Events between these epochs and
   * `sinceEpoch` may belong to another application. Absent: there was no restore.
   */
  readonly before?: readonly EpochSpan[];
  /**
   * The activations by the same application that this activation replaced, oldest first, unless their transactions are
   * known to be canceled (ADR 0063). Absent: none.
   */
  readonly earlier?: readonly EarlierActivation[];
  /**
   * Set if an activation of `earlier` was restored: the transaction of the restored activation. Valid while `after` is
   * the device's newest transaction.
   */
  readonly restored?: { readonly transactionId: number; readonly after: number };
}

/** An activation that a repeated activation by the same application has replaced. */
export interface EarlierActivation {
  readonly transactionId: number;
  readonly clientId: string;
  /** Sealed, base64. */
  readonly clientSecret?: string;
}

/** Work in other documents after an activation was undone (ADR 0063). */
export interface Undo {
  /** The canceled transaction of the activation. */
  readonly transactionId: number;
  readonly applicationId: string;
  /** The device's activation epoch after the undo. */
  readonly epoch: number;
}

interface PendingBase {
  readonly transactionId: number;
  readonly applicationId: string;
}

/** Work in other documents that a change of the device's document caused. */
export type Pending =
  | (PendingBase & {
      readonly kind: 'activate';
      readonly epoch: number;
      readonly clientId: string;
      readonly clientSecret?: string;
    })
  | (PendingBase & { readonly kind: 'deactivate'; readonly epoch: number })
  | (PendingBase & { readonly kind: 'reset'; readonly epoch: number })
  /** Written by release 0.1.0; needs no work. */
  | (PendingBase & { readonly kind: 'release' });

/** An activation or deactivation that has taken effect, for other services. */
export interface LifecycleChange {
  readonly kind: 'activated' | 'deactivated';
  readonly applicationId: string;
  /** The device's activation epoch after the change; identifies the change. */
  readonly epoch: number;
  /** Milliseconds since 1970. */
  readonly atMs: number;
  /** Set if the deactivation undid a canceled activation, which does not count as an activation (ADR 0063). */
  readonly undone?: true;
}

/** Maximum transactions that a device's document remembers. */
export const recentTransactions = 32;

/** IMEI: 15 digits. */
export function isDeviceId(text: string): boolean {
  return /^\d{15}$/.test(text);
}
