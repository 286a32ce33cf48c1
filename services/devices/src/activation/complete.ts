import type { MessageInitShape } from '@bufbuild/protobuf';
import { DomainError, errorCatalogue } from '@headset-cloud/kit/errors.ts';
import { operationOf } from '@headset-cloud/proto/operations.ts';
import {
  type CreateTransactionRequestSchema,
  FloorReason,
} from '@headset-cloud/proto/transactions/v1/service_pb.ts';
import type { Pending, Undo } from '../domain/device.ts';
import type { ActivationDependencies } from './dependencies.ts';
import { returnSlot } from './slots.ts';

/**
 * Does a device's pending work, oldest first. Each step is idempotent, so any number of calls and sweepers
 * may do it concurrently. The transaction of a later change is never created before that of an earlier one,
 * because everyone does all of the earlier work first. Throws transient errors; the work then stays
 * pending.
 */
export async function completePending(deps: ActivationDependencies, deviceId: string): Promise<void> {
  const device = await deps.devices.find(deviceId);
  if (device && device.lifecycle.length > 0) deps.lifecycle.begin(deviceId);
  for (const pending of device?.pending ?? []) {
    await settleSlot(deps, deviceId, pending);
    if (pending.kind !== 'release') await createTransaction(deps, deviceId, pending);
    deps.failpoints('devices.created');
    await deps.devices.settle(deviceId, pending);
    deps.failpoints('devices.settled');
  }
  if (device?.undo) await completeUndo(deps, deviceId, device.undo);
}

/** Frees the slot of an activation that was undone, and has its transactions canceled (ADR 0063). */
async function completeUndo(deps: ActivationDependencies, deviceId: string, undo: Undo): Promise<void> {
  if (undo.slotId !== undefined) await returnSlot(deps, undo.applicationId, deviceId, undo.slotId);
  deps.failpoints('devices.released');
  await deps.transactions.endActivation({ deviceId, activationEpoch: BigInt(undo.epoch) });
  await deps.devices.settleUndo(deviceId, undo);
  deps.failpoints('devices.settled');
}

/** Completes the slot of a change in the contract's document (ADR 0011). */
async function settleSlot(deps: ActivationDependencies, deviceId: string, pending: Pending): Promise<void> {
  switch (pending.kind) {
    case 'activate':
      if (pending.slotId === undefined) return;
      await deps.contracts.confirm(pending.applicationId, pending.slotId);
      return deps.failpoints('devices.confirmed');
    case 'deactivate':
      if (pending.slotId === undefined) return;
      await returnSlot(deps, pending.applicationId, deviceId, pending.slotId);
      return deps.failpoints('devices.released');
    case 'release':
      await deps.contracts.refundIntent(pending.applicationId, pending.intentId);
      return deps.failpoints('devices.released');
    case 'reset':
  }
}

type PendingTransaction = Exclude<Pending, { kind: 'release' }>;

async function createTransaction(
  deps: ActivationDependencies,
  deviceId: string,
  pending: PendingTransaction,
): Promise<void> {
  const { transactionId, applicationId, epoch } = pending;
  try {
    await deps.transactions.createTransaction({
      transactionId: BigInt(transactionId),
      deviceId,
      applicationId,
      activationEpoch: BigInt(epoch),
      ...partOf(deps, deviceId, pending),
    });
  } catch (error) {
    if (!(error instanceof DomainError) || errorCatalogue[error.code].http >= 500) throw error;
    // It can never be created; keeping it pending would block the device's later changes for ever.
    deps.logger.error(
      { deviceId, transactionId, err: error },
      'a transaction of an activation was refused for good',
    );
  }
}

type Part = Pick<
  MessageInitShape<typeof CreateTransactionRequestSchema>,
  'operationId' | 'operation' | 'raisesFloor'
>;

function partOf(deps: ActivationDependencies, deviceId: string, pending: PendingTransaction): Part {
  switch (pending.kind) {
    case 'activate':
      return activatePart(deps, deviceId, pending);
    case 'deactivate':
      return deactivatePart(pending.applicationId);
    case 'reset':
      return resetPart(pending.applicationId);
  }
}

function activatePart(
  deps: ActivationDependencies,
  deviceId: string,
  { applicationId, clientId, clientSecret: sealed }: Extract<Pending, { kind: 'activate' }>,
): Part {
  const clientSecret = sealed === undefined ? '' : deps.openClientSecret(deviceId, sealed);
  return {
    operationId: operationOf('activate').id,
    operation: { kind: { case: 'activate', value: { applicationId, clientId, clientSecret } } },
  };
}

function deactivatePart(applicationId: string): Part {
  return {
    operationId: operationOf('deactivate').id,
    operation: { kind: { case: 'deactivate', value: { applicationId } } },
    // The floor cancels all earlier unprocessed transactions (rule B4).
    raisesFloor: FloorReason.DEACTIVATION,
  };
}

function resetPart(applicationId: string): Part {
  return {
    operationId: operationOf('reset').id,
    operation: { kind: { case: 'reset', value: { applicationId } } },
    // As for a deactivation, but with its own message.
    raisesFloor: FloorReason.RESET,
  };
}
