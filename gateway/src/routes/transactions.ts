import {
  CompletionStatus,
  SortBy,
  type Transaction,
  TransactionStatus,
} from '@headset-cloud/proto/transactions/v1/service_pb.ts';
import { DomainError } from '@headset-cloud/runtime/errors.ts';
import type { GatewayClients } from '../clients.ts';
import { dateOf } from './encode.ts';
import type { Call, Handlers } from './types.ts';

const statusNames: Readonly<Record<TransactionStatus, string | undefined>> = {
  [TransactionStatus.UNSPECIFIED]: undefined,
  [TransactionStatus.CREATED]: 'created',
  [TransactionStatus.PUBLISHED]: 'published',
  [TransactionStatus.ACCEPTED]: 'accepted',
  [TransactionStatus.PROCESSED]: 'processed',
  [TransactionStatus.CANCELED]: 'canceled',
};

const completionStatuses: Readonly<Record<string, CompletionStatus>> = {
  uncompleted: CompletionStatus.UNCOMPLETED,
  completed: CompletionStatus.COMPLETED,
  canceled: CompletionStatus.CANCELED,
};

const sortKeys: Readonly<Record<string, SortBy>> = {
  transactionId: SortBy.TRANSACTION_ID,
  deviceId: SortBy.DEVICE_ID,
  transactionStatus: SortBy.TRANSACTION_STATUS,
  operationId: SortBy.OPERATION_ID,
};

function transactionJson(t: Transaction): object {
  const transactionStatus = statusNames[t.status];
  if (transactionStatus === undefined) throw new Error(`transaction ${t.transactionId} has no status`);
  return {
    transactionId: Number(t.transactionId),
    deviceId: t.deviceId,
    transactionStatus,
    operationId: t.operationId,
    createdAt: dateOf(t.createdAtMs),
    updatedAt: dateOf(t.updatedAtMs),
  };
}

/** The requested page: both parameters or neither, by default page 1 of 100 (specification API 5, rule A12). */
function pageOf(query: Call['query']): { perPage: number; page: number } {
  const { perPage, page } = query as { perPage?: number; page?: number };
  if (perPage === undefined && page === undefined) return { perPage: 100, page: 1 };
  if (page === undefined) throw new DomainError('invalid_argument', 'perPage is given without page.');
  if (perPage === undefined) throw new DomainError('invalid_argument', 'page is given without perPage.');
  return { perPage, page };
}

/** Reading and canceling transactions. */
export function transactionHandlers({ transactions }: Pick<GatewayClients, 'transactions'>): Handlers {
  return {
    'get-v1-applications-transactions': async ({ applicationId, query }) => {
      const { perPage, page } = pageOf(query);
      const { deviceId, completionStatus, order, sortBy } = query as Record<string, string | undefined>;
      const answer = await transactions.listTransactions({
        applicationId,
        deviceId: deviceId ?? '',
        completionStatus: completionStatuses[completionStatus ?? ''] ?? CompletionStatus.UNSPECIFIED,
        sortBy: sortKeys[sortBy ?? ''] ?? SortBy.TRANSACTION_ID,
        descending: order === 'desc',
        perPage,
        page,
      });
      return {
        status: 200,
        ...(answer.completeFromMs !== undefined && { completeFrom: dateOf(answer.completeFromMs) }),
        json: {
          transactions: answer.transactions.map(transactionJson),
          parameters: {
            deviceId: deviceId ?? null,
            completionStatus: completionStatus ?? null,
            order,
            sortBy,
            perPage,
            page,
            isNext: answer.isNext,
          },
        },
      };
    },

    'get-v1-applications-transactions-transaction': async ({ applicationId, transactionId }) => {
      const { transaction } = await transactions.getTransaction({
        applicationId,
        transactionId: BigInt(transactionId),
      });
      if (!transaction) throw new Error('the transactions service returned no transaction');
      return { status: 200, json: transactionJson(transaction) };
    },

    'delete-v1-applications-devices-transactions': async ({ caller, deviceId }) => {
      const { canceledTransactionIds } = await transactions.cancelTransactions({ caller, deviceId });
      return { status: 200, json: { canceledTransactions: canceledTransactionIds.map(Number) } };
    },
  };
}
