import { FloorReason, type TransactionsService } from '@headset-cloud/proto/transactions/v1/service_pb.ts';
import type { Handlers } from '@headset-cloud/rpc/types.ts';
import { createTransaction } from '../create/create.ts';
import type { Floor } from '../ports/heads.ts';
import type { HandlerDependencies } from './dependencies.ts';

const floors: Partial<Record<FloorReason, Floor['reason']>> = {
  [FloorReason.DEACTIVATION]: 'deactivation',
  [FloorReason.RESET]: 'reset',
};

/** Creates a transaction; idempotent if the request names the id. */
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
        raisesFloor: floors[request.raisesFloor],
        minimum: { client: request.minimumClientVersion, firmware: request.minimumFirmwareVersion },
        failMessage: request.failMessage,
        deviceMost: request.deviceUnprocessedLimit || undefined,
        applicationMost: request.applicationUnprocessedLimit || undefined,
      }),
    ),
  });
}
