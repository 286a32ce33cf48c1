import { FloorReason, type TransactionsService } from '@headset-cloud/proto/transactions/v1/service_pb.ts';
import type { Handlers } from '@headset-cloud/rpc/types.ts';
import { createTransaction } from '../create/create.ts';
import type { MinimumEpoch } from '../ports/device-counters.ts';
import type { HandlerDependencies } from './dependencies.ts';

const reasons: Partial<Record<FloorReason, MinimumEpoch['reason']>> = {
  [FloorReason.DEACTIVATION]: 'deactivation',
  [FloorReason.RESET]: 'reset',
};

/** Creates a transaction; idempotent if the request contains the id. */
export function createTransactionHandler(
  deps: HandlerDependencies,
): Handlers<typeof TransactionsService>['createTransaction'] {
  return async (request) => ({
    transactionId: BigInt(
      await createTransaction(deps, {
        id: request.transactionId ? Number(request.transactionId) : undefined,
        deviceId: request.deviceId,
        applicationId: request.applicationId,
        operationId: request.operationId,
        subject: request.subject,
        activationEpoch: Number(request.activationEpoch),
        operation: request.operation,
        raisesMinimumEpoch: reasons[request.raisesFloor],
        minimum: { client: request.minimumClientVersion, firmware: request.minimumFirmwareVersion },
        failMessage: request.failMessage,
        deviceLimit: request.deviceUnprocessedLimit || undefined,
        applicationLimit: request.applicationUnprocessedLimit || undefined,
      }),
    ),
  });
}
