import type { PendingAuditRecord } from '@headset-cloud/rules/audit/record.ts';
import { nextActivationStep } from '../domain/activation.ts';
import type { DeviceState } from '../domain/device.ts';
import { refusals } from '../domain/refusals.ts';
import { requireDestination } from '../domain/settings.ts';
import { repeatedActivation } from '../domain/undo.ts';
import { completePending } from './complete.ts';
import type { ActivationDependencies } from './dependencies.ts';

export interface ActivateRequest {
  readonly applicationId: string;
  readonly deviceId: string;
  /** Chosen for this call; a repeat has the same id. */
  readonly transactionId: number;
  readonly clientId: string;
  /** Sealed, base64; absent if none was given. */
  readonly clientSecret?: string;
  /** Audit record, stored with the change. */
  readonly record: PendingAuditRecord;
}

/** Maximum tries of one call. A try fails only if another change of the device, or of a slot, came first. */
const maxTries = 200;

/**
 * Activates a device (specification API 7, rules A7, B8 and C13); resolves when its transaction exists. A first
 * activation is one conditional update of the device's document, which includes the number of a free slot of the
 * contract (ADR 0011). Then the transaction is created, as pending work. After a crash the sweeper does the pending
 * work.
 *
 * Throws the API's errors, and `conflict` when a later change of the device came first.
 */
export async function activateDevice(deps: ActivationDependencies, request: ActivateRequest): Promise<void> {
  const { deviceId } = request;
  for (let tries = 0; tries < maxTries; tries += 1) {
    const device = await deps.devices.find(deviceId);
    if (!device) throw refusals.activationLimit();
    const step = nextActivationStep(device, request);
    if (step === 'done') return completePending(deps, deviceId);
    const slot = await requireAllowed(deps, request, device, tries);
    if (step === 'finish') await completePending(deps, deviceId);
    else if (step === 'again') await activateAgain(deps, request, device);
    else if (slot !== undefined) await activateFirst(deps, request, device, slot);
  }
  throw refusals.busy();
}

/**
 * Checks every condition that can reject an activation before a write, in the order of rule A3. Returns a free slot of
 * the contract; undefined if the device needs none.
 */
async function requireAllowed(
  deps: ActivationDependencies,
  { applicationId, deviceId, clientId }: ActivateRequest,
  device: DeviceState,
  tries: number,
): Promise<number | undefined> {
  const [contract, inUse, destination] = await Promise.all([
    deps.contracts.ofDevice(applicationId, deviceId),
    deps.devices.clientIdInUse(clientId, deviceId),
    deps.applications.destination(applicationId),
  ]);
  if (!destination) throw refusals.applicationForbidden();
  if (!contract) throw refusals.activationLimit();
  const slot = device.activation ? undefined : await deps.slots.free(applicationId, contract, tries);
  if (!device.activation && slot === undefined) {
    // Another call for the same device may have got the last slot.
    const { activation } = (await deps.devices.find(deviceId)) ?? {};
    if (activation?.applicationId !== applicationId) throw refusals.activationLimit();
  }
  if (inUse) throw refusals.clientIdInUse();
  requireDestination(destination);
  return slot;
}

/** Tries the first activation. The caller reads the device again, whatever the outcome. */
async function activateFirst(
  deps: ActivationDependencies,
  { applicationId, deviceId, transactionId, clientId, clientSecret, record }: ActivateRequest,
  device: DeviceState,
  slot: number,
): Promise<void> {
  const epoch = device.epoch + 1;
  const activation = {
    ...{ applicationId, clientId, epoch, sinceEpoch: epoch, slot },
    ...(clientSecret !== undefined && { clientSecret }),
  };
  const outcome = await deps.devices.activate(deviceId, transactionId, activation, record);
  if (outcome === 'taken' && (await deps.devices.clientIdInUse(clientId, deviceId))) {
    throw refusals.clientIdInUse();
  }
  // Otherwise another device has taken the slot in the meantime, and the caller tries again.
}

/**
 * Handles a repeated activation by the same application: replaces the client id, and keeps the slot and the activation
 * epoch.
 */
async function activateAgain(
  deps: ActivationDependencies,
  { transactionId, clientId, clientSecret, record }: ActivateRequest,
  device: DeviceState,
): Promise<void> {
  if (!device.activation) return;
  const client = { clientId, ...(clientSecret !== undefined && { clientSecret }) };
  const next = repeatedActivation(device, device.activation, client);
  const outcome = await deps.devices.reactivate(device, transactionId, next, record);
  if (outcome === 'taken') throw refusals.clientIdInUse();
}
