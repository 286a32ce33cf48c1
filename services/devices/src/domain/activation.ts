import type { DeviceState } from './device.ts';
import { refusals } from './refusals.ts';

/** A call that activates, deactivates or resets, with its transaction id. */
export interface ChangeRequest {
  readonly applicationId: string;
  readonly transactionId: number;
}

/**
 * The next step of an activation, decided from the device's current state:
 * - `done`: it took effect before (a repeat);
 * - `finish`: earlier changes have pending work, which comes first;
 * - `again`: this application has activated the device: change the client id, no second slot (rule A7);
 * - `first`: a first activation (rule B8).
 */
export type ActivationStep = 'done' | 'finish' | 'again' | 'first';

/** Throws an API error if the device's state does not allow the activation. */
export function nextActivationStep(device: DeviceState, request: ChangeRequest): ActivationStep {
  if (device.recent.includes(request.transactionId)) return 'done';
  if (device.activation && device.activation.applicationId !== request.applicationId) {
    throw refusals.activatedByOther();
  }
  if (device.lastTransactionId >= request.transactionId) throw refusals.overtaken();
  if (device.activation) return 'again';
  return device.pending.length > 0 || device.undo ? 'finish' : 'first';
}

/** The next step of a deactivation or reset. Throws an API error if the device's state does not allow it. */
export function nextChangeStep(device: DeviceState | undefined, request: ChangeRequest): 'done' | 'change' {
  if (device?.recent.includes(request.transactionId)) return 'done';
  requireActivated(device?.activation, request.applicationId);
  if (device && device.lastTransactionId >= request.transactionId) throw refusals.overtaken();
  return 'change';
}

/** Throws unless the application has the device activated (rules A3, A7). */
export function requireActivated<T extends { readonly applicationId: string }>(
  activation: T | undefined,
  applicationId: string,
): asserts activation is T {
  if (!activation) throw refusals.notActivated();
  if (activation.applicationId !== applicationId) throw refusals.activatedByOther();
}
