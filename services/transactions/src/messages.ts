import {
  CompletionStatus,
  SortBy,
  TransactionStatus,
} from '@headset-cloud/proto/transactions/v1/service_pb.ts';
import { type Status, statuses } from './domain/state.ts';
import type { ListedTransaction, ListSort } from './ports/queries.ts';

const statusNumbers: Record<Status, TransactionStatus> = {
  created: TransactionStatus.CREATED,
  published: TransactionStatus.PUBLISHED,
  accepted: TransactionStatus.ACCEPTED,
  processed: TransactionStatus.PROCESSED,
  canceled: TransactionStatus.CANCELED,
};

/** The state that a message names; undefined: none. */
export function statusOf(number: TransactionStatus): Status | undefined {
  return statuses.find((status) => statusNumbers[status] === number);
}

/** A stored transaction as a gRPC message. */
export function toMessage(t: ListedTransaction) {
  return {
    transactionId: BigInt(t.id),
    deviceId: t.deviceId,
    status: statusNumbers[t.status],
    operationId: t.operationId,
    createdAtMs: BigInt(t.createdAtMs),
    updatedAtMs: BigInt(t.updatedAtMs),
    applicationId: t.applicationId,
  };
}

/** Specification API 4, completion filter; rule A12. */
export function statusesOf(completion: CompletionStatus): readonly Status[] | undefined {
  switch (completion) {
    case CompletionStatus.UNCOMPLETED:
      return ['created', 'published', 'accepted'];
    case CompletionStatus.COMPLETED:
      return ['processed'];
    case CompletionStatus.CANCELED:
      return ['canceled'];
    default:
      return undefined;
  }
}

export function sortOf(sortBy: SortBy): ListSort {
  switch (sortBy) {
    case SortBy.DEVICE_ID:
      return 'deviceId';
    case SortBy.TRANSACTION_STATUS:
      return 'transactionStatus';
    case SortBy.OPERATION_ID:
      return 'operationId';
    default:
      return 'transactionId';
  }
}
