import type { Caller } from '@headset-cloud/proto/common/v1/common_pb.ts';
import type { Operation } from '@headset-cloud/proto/device_link/v1/device_link_pb.ts';
import { operationOf, subjectOf } from '@headset-cloud/proto/operations.ts';
import type { TransactionsService } from '@headset-cloud/proto/transactions/v1/service_pb.ts';
import type { Client } from '@headset-cloud/rpc/types.ts';
import type { Idempotency } from '@headset-cloud/rules/idempotency.ts';
import { isOlder } from '@headset-cloud/rules/version.ts';
import { DomainError, isTransient } from '@headset-cloud/runtime/errors.ts';
import { completePending } from '../activation/complete.ts';
import type { ActivationDependencies } from '../activation/dependencies.ts';
import { requireActivated } from '../domain/activation.ts';
import { certainFailure, requireVersions } from '../domain/operations.ts';
import { refusals } from '../domain/refusals.ts';
import { requireDestination } from '../domain/settings.ts';
import type { LimitsReader } from '../limits.ts';
import type { ApplicationStore } from '../ports/application-store.ts';
import type { ActivationSnapshot, DeviceReader } from '../ports/device-reader.ts';

/** Dependencies of sending an operation. */
export interface SendDependencies {
  readonly reader: DeviceReader;
  readonly applications: ApplicationStore;
  readonly activation: ActivationDependencies;
  readonly transactions: Client<typeof TransactionsService>;
  readonly idempotency: Idempotency;
  readonly limits: LimitsReader;
}

/** An operation to send from an application to its device. */
export interface OperationToSend {
  readonly caller: Caller;
  readonly deviceId: string;
  readonly operation: Operation & { readonly kind: { readonly case: string } };
}

/** Maximum tries of one call. A try fails only if the activation changed after it was read. */
const maxTries = 10;

/** Throws on a downgrade. A version that the device has not reported cannot be compared. */
function requireNoDowngrade(version: string, { versions, readable }: ActivationSnapshot): void {
  if (!versions.firmware || !isOlder(version, versions.firmware)) return;
  throw refusals.firmwareDowngrade(version, readable.firmware || undefined);
}

/**
 * Creates an operation's transaction on an activated device and returns its id: two concurrent point reads, then one
 * create. The create carries the activation epoch that was read, so that transactions rejects it after a deactivation
 * or a reset. It also carries the minimum client and firmware versions of the operation, for headsets whose versions
 * are not known yet. Throws the errors of rule A3.
 */
export async function sendOperation(
  deps: SendDependencies,
  { caller, deviceId, operation }: OperationToSend,
): Promise<bigint> {
  const { applicationId } = caller;
  const { id: operationId, minimum } = operationOf(operation.kind.case);

  /** Returns undefined if the activation epoch changed after it was read: the caller tries again. */
  const create = async (transactionId: bigint): Promise<bigint | undefined> => {
    const [snapshot, destination, limits] = await Promise.all([
      deps.reader.activationSnapshot(deviceId),
      deps.applications.destination(applicationId),
      deps.limits(applicationId),
    ]);
    if (!destination) throw refusals.applicationForbidden();
    requireActivated(snapshot, applicationId);
    if (operation.kind.case === 'updateFirmware') requireNoDowngrade(operation.kind.value.version, snapshot);
    requireDestination(destination);
    if (minimum) requireVersions(minimum, snapshot);
    // Creates the pending transactions of earlier changes first, because after a create at this activation epoch,
    // transactions rejects transactions of earlier epochs.
    if (snapshot.unsettled) await completePending(deps.activation, deviceId);
    try {
      const created = await deps.transactions.createTransaction({
        transactionId,
        deviceId,
        applicationId,
        operationId,
        subject: subjectOf(operation.kind),
        activationEpoch: BigInt(snapshot.epoch),
        operation,
        failMessage: certainFailure(operation),
        minimumClientVersion: minimum?.client,
        minimumFirmwareVersion: minimum?.firmware,
        deviceUnprocessedLimit: limits.deviceUnprocessed,
        applicationUnprocessedLimit: limits.applicationUnprocessed,
      });
      return created.transactionId;
    } catch (error) {
      const overtaken = error instanceof DomainError && error.code === 'device_not_activated';
      if (overtaken && (await deps.reader.activationSnapshot(deviceId))?.epoch !== snapshot.epoch)
        return undefined;
      throw error;
    }
  };

  const send = async (transactionId: bigint): Promise<bigint> => {
    for (let tries = 0; tries < maxTries; tries += 1) {
      const created = await create(transactionId);
      if (created !== undefined) return created;
    }
    throw refusals.busy();
  };

  // An earlier run of the same call may have created the transaction, and its process may have died before the answer.
  // Then this run returns the id of that transaction, even if the device has been deactivated since.
  const answerOfEarlierRun = async (drawn: bigint, refusal: unknown): Promise<bigint> => {
    if (isTransient(refusal)) throw refusal;
    try {
      await deps.transactions.getTransaction({ applicationId, transactionId: drawn });
      return drawn;
    } catch (error) {
      throw error instanceof DomainError && error.code === 'not_found' ? refusal : error;
    }
  };

  // Without an Idempotency-Key, transactions draws the id in the create call itself, which saves a call.
  if (!caller.idempotency) return send(0n);
  return deps.idempotency.run(caller, {
    draw: async () => (await deps.transactions.drawTransactionId({ deviceId })).transactionId,
    work: (drawn) => send(drawn).catch((refusal) => answerOfEarlierRun(drawn, refusal)),
  });
}
