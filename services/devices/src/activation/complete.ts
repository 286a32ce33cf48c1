import type { MessageInitShape } from '@bufbuild/protobuf';
import { operationOf } from '@headset-cloud/proto/operations.ts';
import {
  type CreateTransactionRequestSchema,
  FloorReason,
} from '@headset-cloud/proto/transactions/v1/service_pb.ts';
import { DomainError, errorCatalogue } from '@headset-cloud/runtime/errors.ts';
import type { DeviceState, Pending, Undo } from '../domain/device.ts';
import type { ActivationDependencies } from './dependencies.ts';

/**
 * Does a device's pending work, oldest first. Each step is idempotent, so any number of calls and sweepers may run
 * concurrently. The transaction of a later change is never created before the transaction of an earlier change, because
 * every caller does all earlier work first. Throws transient errors; the work then stays pending.
 */
export async function completePending(deps: ActivationDependencies, deviceId: string): Promise<void> {
  const device = await deps.devices.find(deviceId);
  if (!device) return;
  if (device.lifecycle.length > 0) deps.lifecycle.publishInBackground(deviceId);
  for (const pending of device.pending) {
    await recordSlotChange(deps, device, pending);
    if (pending.kind !== 'release') await createTransaction(deps, deviceId, pending);
    await deps.devices.settle(deviceId, pending);
  }
  const { undo } = device.pending.length > 0 ? ((await deps.devices.find(deviceId)) ?? {}) : device;
  if (undo) await completeUndo(deps, deviceId, undo);
}

/** Cancels the transactions of an activation that was undone (ADR 0063). */
async function completeUndo(deps: ActivationDependencies, deviceId: string, undo: Undo): Promise<void> {
  await deps.contracts.slotsChanged(undo.applicationId);
  await deps.transactions.endActivation({ deviceId, activationEpoch: BigInt(undo.epoch) });
  await deps.devices.settleUndo(deviceId, undo);
}

/**
 * Records in the contract that its slots have changed. If the application was forgotten before the activation, undoes
 * the activation (ADR 0047): the update of the device could not check the contract.
 */
async function recordSlotChange(
  deps: ActivationDependencies,
  device: DeviceState,
  pending: Pending,
): Promise<void> {
  const { kind, applicationId, transactionId } = pending;
  if (kind !== 'activate' && kind !== 'deactivate') return;
  const contract = await deps.contracts.slotsChanged(applicationId);
  const { activation } = device;
  if (contract === 'closed' && kind === 'activate' && activation?.applicationId === applicationId) {
    await deps.devices.undo(device, activation, transactionId);
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
      ...operationFields(deps, deviceId, pending),
    });
  } catch (error) {
    if (!(error instanceof DomainError) || errorCatalogue[error.code].http >= 500) throw error;
    // The transaction can never be created. If it stayed pending, it would block all later changes of the device.
    deps.logger.error(
      { deviceId, transactionId, err: error },
      'a transaction of an activation was rejected permanently',
    );
  }
}

/** The fields of the create request that depend on the kind of the change. */
type OperationFields = Pick<
  MessageInitShape<typeof CreateTransactionRequestSchema>,
  'operationId' | 'operation' | 'raisesFloor'
>;

function operationFields(
  deps: ActivationDependencies,
  deviceId: string,
  pending: PendingTransaction,
): OperationFields {
  switch (pending.kind) {
    case 'activate':
      return activateFields(deps, deviceId, pending);
    case 'deactivate':
      return deactivateFields(pending.applicationId);
    case 'reset':
      return resetFields(pending.applicationId);
  }
}

function activateFields(
  deps: ActivationDependencies,
  deviceId: string,
  { applicationId, clientId, clientSecret: sealed }: Extract<Pending, { kind: 'activate' }>,
): OperationFields {
  const clientSecret = sealed === undefined ? '' : deps.openClientSecret(deviceId, sealed);
  return {
    operationId: operationOf('activate').id,
    operation: { kind: { case: 'activate', value: { applicationId, clientId, clientSecret } } },
  };
}

function deactivateFields(applicationId: string): OperationFields {
  return {
    operationId: operationOf('deactivate').id,
    operation: { kind: { case: 'deactivate', value: { applicationId } } },
    // The minimum activation epoch cancels all earlier unprocessed transactions (rule B4).
    raisesFloor: FloorReason.DEACTIVATION,
  };
}

function resetFields(applicationId: string): OperationFields {
  return {
    operationId: operationOf('reset').id,
    operation: { kind: { case: 'reset', value: { applicationId } } },
    // Cancels transactions like a deactivation does, with a different message.
    raisesFloor: FloorReason.RESET,
  };
}
