import { nextDeactivationStep } from '../domain/activation.ts';
import { refusals } from '../domain/refusals.ts';
import { requireDestination } from '../domain/settings.ts';
import { completePending } from './complete.ts';
import type { ActivationDependencies } from './dependencies.ts';

export interface DeactivateRequest {
  readonly applicationId: string;
  readonly deviceId: string;
  /** Drawn for this call; a repeat brings the same. */
  readonly transactionId: number;
}

const mostTries = 20;

/**
 * Deactivates a device at once (decision 13); resolves when its slot is free and its transaction
 * exists. The epoch rises: a command that still carries the ended activation's is refused by
 * transactions from then on, and a headset ignores what belongs to it (ruling A7).
 *
 * Throws the refusals of the API, and `conflict` when a later change of the device came first.
 */
export async function deactivateDevice(
  deps: ActivationDependencies,
  request: DeactivateRequest,
): Promise<void> {
  const { applicationId, deviceId, transactionId } = request;
  for (let tries = 0; tries < mostTries; tries += 1) {
    const device = await deps.devices.find(deviceId);
    if (nextDeactivationStep(device, request) === 'done') return completePending(deps, deviceId);
    if (!device?.activation) continue;
    const destination = await deps.applications.destination(applicationId);
    if (!destination) throw refusals.applicationForbidden();
    requireDestination(destination);
    await deps.devices.deactivate(deviceId, transactionId, device.activation);
    deps.failpoints('devices.deactivated');
  }
  throw refusals.busy();
}
