import type { PendingAuditRecord } from '@headset-cloud/rules/audit/record.ts';
import { nextChangeStep } from '../domain/activation.ts';
import type { Activation, DeviceState } from '../domain/device.ts';
import { refusals } from '../domain/refusals.ts';
import { requireDestination } from '../domain/settings.ts';
import { completePending } from './complete.ts';
import type { ActivationDependencies } from './dependencies.ts';

export interface ChangeActivatedRequest {
  readonly applicationId: string;
  readonly deviceId: string;
  /** Chosen for this call; a repeat has the same id. */
  readonly transactionId: number;
  /** Audit record, stored with the change. */
  readonly record: PendingAuditRecord;
}

/** Maximum tries of one call. A try fails only if another change of the device came first. */
const maxTries = 20;

/**
 * Changes a device that the application has activated; resolves when the work that the change caused is done. `change`
 * is one conditional update of the activation that was read. The device is read again, whatever the outcome.
 *
 * Throws the API's errors, and `conflict` when a later change of the device came first.
 */
export async function changeActivated(
  deps: ActivationDependencies,
  request: ChangeActivatedRequest,
  change: (activation: Activation, device: DeviceState) => Promise<unknown>,
): Promise<void> {
  const { applicationId, deviceId } = request;
  for (let tries = 0; tries < maxTries; tries += 1) {
    const device = await deps.devices.find(deviceId);
    if (nextChangeStep(device, request) === 'done') return completePending(deps, deviceId);
    if (!device?.activation) continue;
    const destination = await deps.applications.destination(applicationId);
    if (!destination) throw refusals.applicationForbidden();
    requireDestination(destination);
    await change(device.activation, device);
  }
  throw refusals.busy();
}
