import { DomainError } from '@headset-cloud/kit/errors.ts';
import type { Idempotency } from '@headset-cloud/kit/idempotency.ts';
import { bind, type RpcBinding } from '@headset-cloud/kit/rpc/types.ts';
import { TransactionsService } from '@headset-cloud/proto/transactions/v1/service_pb.ts';
import { type CreateDeps, cancelTransactions, createTransaction, planCancel } from '../service.ts';
import { sortOf, statusesOf, toMessage } from './map.ts';

/** TransactionsService over gRPC: decode, call, encode. */
export function transactionsRpc(
  deps: CreateDeps & Parameters<typeof planCancel>[0] & { idempotency: Idempotency },
): RpcBinding {
  const { store } = deps;
  return bind(TransactionsService, {
    drawTransactionId: async ({ deviceId }) => ({
      transactionId: BigInt(await store.drawIdFor(deviceId)),
    }),

    createTransaction: async (request) => ({
      transactionId: BigInt(await createTransaction(deps, request)),
    }),

    async getTransaction(request) {
      const t = await store.getListed(Number(request.transactionId));
      if (t?.applicationId !== request.applicationId) {
        throw new DomainError('not_found', 'The transaction was not found.');
      }
      return { transaction: toMessage(t) };
    },

    async listTransactions(request) {
      const statuses = statusesOf(request.completionStatus);
      const found = await store.list({
        applicationId: request.applicationId,
        ...(request.deviceId && { deviceId: request.deviceId }),
        ...(statuses && { statuses }),
        sortBy: sortOf(request.sortBy),
        descending: request.descending,
        skip: (request.page - 1) * request.perPage,
        limit: request.perPage + 1,
      });
      return {
        transactions: found.slice(0, request.perPage).map(toMessage),
        isNext: found.length > request.perPage,
      };
    },

    async cancelTransactions(request) {
      const applicationId = request.caller?.applicationId ?? '';
      const ids = await deps.idempotency.run(request.caller, {
        draw: () => planCancel(deps, { applicationId, deviceId: request.deviceId }),
        work: (plan) => cancelTransactions(deps, { applicationId, deviceId: request.deviceId, plan }),
      });
      return { canceledTransactionIds: ids.map(BigInt) };
    },
  });
}
