import type { PendingAuditRecord } from '@headset-cloud/rules/audit/record.ts';
import type { Activation, DeviceState, LifecycleChange, Pending, Undo } from '../domain/device.ts';

/**
 * Outcome of a conditional change. `lost`: the document had changed in the meantime. `taken`: another device has the
 * client id or the slot.
 */
export type ChangeOutcome = 'changed' | 'lost' | 'taken';

/** The devices' documents for activation. Every change is one conditional update of one document. */
export interface ActivationStore {
  find(deviceId: string): Promise<DeviceState | undefined>;
  clientIdInUse(clientId: string, exceptDeviceId: string): Promise<boolean>;
  /**
   * Activates the device if it is not activated and has no pending work. Creating the transaction becomes pending work.
   */
  activate(
    deviceId: string,
    transactionId: number,
    activation: Activation,
    record: PendingAuditRecord,
  ): Promise<ChangeOutcome>;
  /** Replaces the client of the activation, unless the device's activation has changed since it was read. */
  reactivate(
    device: DeviceState,
    transactionId: number,
    next: Activation,
    record: PendingAuditRecord,
  ): Promise<ChangeOutcome>;
  /** Resets the device: the activation continues at the next activation epoch. */
  reset(
    deviceId: string,
    transactionId: number,
    present: Activation,
    record: PendingAuditRecord,
  ): Promise<ChangeOutcome>;
  /** Ends the activation; the deactivation has the next activation epoch. */
  deactivate(
    deviceId: string,
    transactionId: number,
    ended: Activation,
    record: PendingAuditRecord,
  ): Promise<ChangeOutcome>;
  /** Replaces the activation (ADR 0063), unless it has changed since it was read. */
  replace(device: DeviceState, activation: Activation): Promise<ChangeOutcome>;
  /** Ends the activation as if it had never existed (ADR 0063), unless it has changed since it was read. */
  undo(device: DeviceState, present: Activation, transactionId: number): Promise<void>;
  /** Removes the finished work of an undone activation. */
  settleUndo(deviceId: string, done: Undo): Promise<void>;
  /** Removes the oldest pending work, which is finished. */
  settle(deviceId: string, done: Pending): Promise<void>;
  /** Removes the due time of a device without pending work, so that the sweeper does not read the device. */
  clearDueTime(deviceId: string): Promise<void>;
  /** Number of devices with pending work, for a metric; stops counting at 10,000. */
  countPending(): Promise<number>;
  /** Lifecycle changes of these devices that are not published yet, in the order of each device. */
  pendingLifecycle(
    deviceIds: readonly string[],
  ): Promise<{ readonly deviceId: string; readonly changes: readonly LifecycleChange[] }[]>;
  /** Removes published changes up to and including that activation epoch. */
  clearLifecycle(published: readonly { readonly deviceId: string; readonly epoch: number }[]): Promise<void>;
  /** Claims devices with overdue work, oldest first, for one instance until `untilMs`. */
  claimDue(nowMs: number, untilMs: number, limit: number): Promise<string[]>;
  /**
   * Makes work due now if its due time is after `latestMs`. Only an instance with a wrong clock writes a due time after
   * `latestMs`.
   */
  recall(latestMs: number, nowMs: number): Promise<void>;
}
