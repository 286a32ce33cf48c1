import type { Slot } from './slots.ts';

/**
 * What the platform decides about a device, all of it in one document, changed by one conditional
 * update at a time. Ids of transactions order the changes: each has a greater id than the one before.
 */
export interface DeviceState {
  /** IMEI, 15 digits. */
  readonly deviceId: string;
  /** Rises with each activation, deactivation and reset; 0 when there was none. */
  readonly epoch: number;
  /** The newest activation's, deactivation's or reset's transaction. */
  readonly lastTransactionId: number;
  /** The newest transactions that took effect, so that a repeat is recognised. */
  readonly recent: readonly number[];
  /** Absent: not activated. */
  readonly activation?: Activation;
  /** A first activation on its way: whoever holds it may take a slot and activate. */
  readonly intent?: Intent;
  /** The slot that it has: from its activation until it is given back after the deactivation. */
  readonly slot?: Slot;
  /** The newest slot that it gave back, and the return that brought it to its contract. */
  readonly returned?: { readonly slotId: string; readonly id: string };
  /** What is still to be done elsewhere, in order. */
  readonly pending: readonly Pending[];
  /** Lifecycle events that are not known to be in the log yet, in order. */
  readonly lifecycle: readonly LifecycleChange[];
}

export interface Activation {
  readonly applicationId: string;
  readonly clientId: string;
  /** Sealed, base64. */
  readonly clientSecret?: string;
  readonly epoch: number;
  /** The epoch from which on, without a break, this application has had the device activated. */
  readonly sinceEpoch: number;
}

export interface Intent {
  /** Never drawn twice, unlike the transaction of a call that is repeated. */
  readonly id: string;
  readonly applicationId: string;
  readonly transactionId: number;
  /** Afterwards anyone may abandon it; milliseconds since 1970. */
  readonly untilMs: number;
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
      /** The slot that a first activation took. */
      readonly slotId?: string;
    })
  | (PendingBase & { readonly kind: 'deactivate'; readonly epoch: number; readonly slotId?: string })
  | (PendingBase & { readonly kind: 'reset'; readonly epoch: number })
  /** An abandoned intent may have taken a slot. */
  | (PendingBase & { readonly kind: 'release'; readonly intentId: string });

/** An activation or deactivation that has taken effect, as other services hear of it. */
export interface LifecycleChange {
  readonly kind: 'activated' | 'deactivated';
  readonly applicationId: string;
  /** The device's epoch from then on; names the change. */
  readonly epoch: number;
  /** Milliseconds since 1970. */
  readonly atMs: number;
}

/** How many transactions a device's document remembers. */
export const recentTransactions = 32;

/** IMEI: 15 digits. */
export function isDeviceId(text: string): boolean {
  return /^\d{15}$/.test(text);
}
