import type { ListedTransaction, OpenOfDevice } from '../ports/queries.ts';
import type { TransactionDocument } from './documents.ts';

/** The fields that `toListed` reads: without the operation, which may have 1 MiB (rule A22). */
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

/** The fields that `toOpen` reads: without the operation, too. */
export const openFields = {
  applicationId: 1,
  operationId: 1,
  subject: 1,
  status: 1,
  activationEpoch: 1,
  attempts: 1,
  sentEpoch: 1,
  lostEpoch: 1,
  counted: 1,
  'progress.best': 1,
  wish: 1,
} as const;

export function toOpen(d: TransactionDocument): OpenOfDevice {
  const { _id: id, applicationId, operationId, subject, status, activationEpoch, attempts, sentEpoch } = d;
  return {
    ...{ id, applicationId, operationId, subject, status, activationEpoch, attempts, sentEpoch },
    lostEpoch: d.lostEpoch ?? 0,
    countedAtMs: d.counted?.at?.getTime() ?? 0,
    countedAdvance: d.counted?.advance ?? 0,
    bestProgress: d.progress?.best ?? 0,
    wish: d.wish?.message ?? '',
  };
}
