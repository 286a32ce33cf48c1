import type { ListedTransaction } from '../ports.ts';
import type { TransactionDocument } from './documents.ts';

/** What `toListed` takes: without the operation, which may have 1 MiB (ruling A22). */
export const listedFields = {
  deviceId: 1,
  applicationId: 1,
  operationId: 1,
  status: 1,
  createdAt: 1,
  updatedAt: 1,
} as const;

export function toListed(d: TransactionDocument): ListedTransaction {
  const { _id: id, deviceId, applicationId, operationId, status, createdAt, updatedAt } = d;
  const dates = { createdAtMs: createdAt.getTime(), updatedAtMs: updatedAt.getTime() };
  return { id, deviceId, applicationId, operationId, status, ...dates };
}
