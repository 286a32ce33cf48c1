import { DomainError, isTransient } from '@headset-cloud/kit/errors.ts';
import type { Handlers } from '@headset-cloud/kit/rpc/types.ts';
import { isOlder } from '@headset-cloud/kit/version.ts';
import type { DevicesService } from '@headset-cloud/proto/devices/v1/service_pb.ts';
import { operationOf, subjectOf } from '@headset-cloud/proto/operations.ts';
import { completePending } from '../activation/complete.ts';
import { requireActivated } from '../domain/activation.ts';
import { certainFailure, requireVersions } from '../domain/operations.ts';
import { refusals } from '../domain/refusals.ts';
import { requireDestination } from '../domain/settings.ts';
import type { Standing } from '../ports.ts';
import { requireCaller } from './caller.ts';
import type { HandlerDependencies } from './dependencies.ts';

/** What a device has not reported cannot be compared. */
function requireNoDowngrade(version: string, { versions, readable }: Standing): void {
  if (!versions.firmware || !isOlder(version, versions.firmware)) return;
  throw refusals.firmwareDowngrade(version, readable.firmware || undefined);
}

/** How often a call looks again when the activation changed under it. */
const mostTries = 10;

/**
 * Every operation on an activated device: two point reads at once, then one create. The create
 * carries the epoch of the activation that was seen, so that transactions refuses it after a
 * deactivation or a reset, and the oldest client and firmware that know the operation, for headsets
 * whose versions are not known yet.
 */
export function sendOperationHandler(
  deps: HandlerDependencies,
): Handlers<typeof DevicesService>['sendOperation'] {
  return async ({ caller: given, deviceId, operation }) => {
    const caller = requireCaller(given);
    const { applicationId } = caller;
    const kind = operation?.kind.case;
    const entry = kind && operationOf(kind);
    if (!operation || !entry || entry.changesActivation) {
      throw new DomainError('invalid_argument', 'The call carries no operation.');
    }
    const { minimum } = entry;

    const create = async (transactionId: bigint) => {
      const [standing, destination] = await Promise.all([
        deps.reader.standing(deviceId),
        deps.applications.destination(applicationId),
      ]);
      if (!destination) throw refusals.applicationForbidden();
      requireActivated(standing, applicationId);
      if (operation.kind.case === 'updateFirmware') {
        requireNoDowngrade(operation.kind.value.version, standing);
      }
      requireDestination(destination);
      if (minimum) requireVersions(minimum, standing);
      // Their transactions come first: under this epoch nothing of an earlier one can be created any more.
      if (standing.unsettled) await completePending(deps.activation, deviceId);
      try {
        const created = await deps.transactions.createTransaction({
          transactionId,
          deviceId,
          applicationId,
          operationId: entry.id,
          subject: subjectOf(operation.kind),
          activationEpoch: BigInt(standing.epoch),
          operation,
          failMessage: certainFailure(operation),
          minimumClientVersion: minimum?.client,
          minimumFirmwareVersion: minimum?.firmware,
        });
        return created.transactionId;
      } catch (error) {
        // A reset or another activation came between: what is so now decides.
        const overtaken = error instanceof DomainError && error.code === 'device_not_activated';
        if (overtaken && (await deps.reader.standing(deviceId))?.epoch !== standing.epoch) return undefined;
        throw error;
      }
    };
    const send = async (transactionId: bigint) => {
      for (let tries = 0; tries < mostTries; tries += 1) {
        const created = await create(transactionId);
        if (created !== undefined) return created;
      }
      throw refusals.busy();
    };

    // A repeat whose first run created the transaction, but died before it answered, gets that answer,
    // even if the device was deactivated since.
    const answerOfEarlierRun = async (drawn: bigint, refusal: unknown): Promise<bigint> => {
      if (isTransient(refusal)) throw refusal;
      try {
        await deps.transactions.getTransaction({ applicationId, transactionId: drawn });
        return drawn;
      } catch (error) {
        throw error instanceof DomainError && error.code === 'not_found' ? refusal : error;
      }
    };

    // Without a key transactions draws the id itself, which saves a call.
    if (!caller.idempotency) return { transactionId: await send(0n) };
    const transactionId = await deps.idempotency.run(caller, {
      draw: async () => (await deps.transactions.drawTransactionId({ deviceId })).transactionId,
      work: (drawn) => send(drawn).catch((refusal) => answerOfEarlierRun(drawn, refusal)),
    });
    return { transactionId };
  };
}
