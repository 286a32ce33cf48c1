import type { IndexDescription } from '@headset-cloud/store/operations.ts';
import type { Binary } from 'mongodb';
import type { QueuedFirmware } from '../domain/firmware.ts';
import type { PendingCallback } from '../domain/pending-callbacks.ts';
import type { Status } from '../domain/state.ts';
import type { ReportedProgress } from '../ports/transitions.ts';

/** A transaction as it is stored. Only this document decides what may happen to the transaction (rule B1). */
export interface TransactionDocument {
  /** transactionId: a unique safe integer; the ids of one device rise. */
  _id: number;
  deviceId: string;
  applicationId: string;
  operationId: string;
  subject: string;
  status: Status;
  /** True while unprocessed, absent afterwards, so that the partial index stays small. */
  open?: true;
  activationEpoch: number;
  /** The protobuf Operation of up to 1 MiB; absent after a cancellation. */
  operation?: Binary;
  createdAt: Date;
  updatedAt: Date;
  /** Counted retries (rule B6). */
  attempts: number;
  /** Epoch of the newest session that it was dispatched to or reconciled for; 0: none. */
  sentEpoch: number;
  /** Epoch of the newest session whose hello showed it as lost; removed when the headset holds it again (ADR 0057). */
  lostEpoch?: number;
  /** Time of the last counted retry, and the transaction's advance at that time (rule B6). */
  counted?: { at?: Date; advance?: number };
  /** The requested cancellation, until the headset confirms it (rule A11); `cancelRequested` in the code. */
  wish?: { message: string; at: Date };
  /** Time of the acceptance; no later callback has an earlier time (rule A20). Milliseconds since 1970. */
  acceptedAtMs?: number;
  /** A headset with an older client or firmware must not start it (rule C14). */
  minimumClientVersion?: string;
  minimumFirmwareVersion?: string;
  /** Pending callbacks, oldest first; progress has its own field. */
  outbox?: PendingCallback[];
  /** The newest progress report of an update. Replaces the previous report, whose callback may be unpublished. */
  progress?: ProgressField;
  /** Sequence number of the outbox, rises with each pending callback. The outbox is cleared only if it is unchanged. */
  outboxSeq: number;
  /** Time at which the sweeper processes it, because it is not dispatched or has pending callbacks. */
  dueAt?: Date;
  /** Set when it has ended. */
  end?: { success: boolean; message: string; at: Date; atMs?: number };
  /** Time of the called app's answer (rule A8); at most one answer counts. */
  answeredAt?: Date;
  /** Identifies the cancel request that canceled it (rule B8). */
  cancelStamp?: string;
  /** Identify the caller that accepted it, or ended it by a result, until the outbox is cleared (ADR 0049). */
  acceptStamp?: string;
  resultStamp?: string;
  /** W3C trace context of the call that created it. */
  traceparent?: string;
}

export interface ProgressField {
  reportId: number;
  /** 0.0 to 1.0. */
  value: number;
  message: string;
  /** Milliseconds since 1970. */
  atMs: number;
  /** Latest time of all progress reports; milliseconds since 1970. */
  latestAtMs: number;
  /** Highest value so far. */
  best: number;
  /** Number of progress callbacks so far. */
  count: number;
  /** True while the progress callback is pending. */
  owed?: true;
  /** Time at which the newest progress callback became pending, by the cloud's clock; milliseconds since 1970. */
  owedAtMs: number;
  /** The newest report while it waits for its interval (rule A9). */
  deferred?: ReportedProgress;
}

/** Counters of a device: one document per device, in the collection `heads` (rule B4, ADR 0004). */
export interface DeviceCountersDocument {
  /** Device id. */
  _id: string;
  /** Highest transaction id created for the device. */
  lastId: number;
  /** The newest ids in the order of creation, `recentIds` in the code; absent: written by an earlier version. */
  lately?: number[];
  /** Highest activation epoch so far. */
  epoch: number;
  /** Minimum activation epoch, `minimumEpoch` in the code; transactions of older activation epochs are canceled. */
  floor?: { epoch: number; reason: 'deactivation' | 'reset' };
  /** Activation epochs of the newest deactivations, rising. Each deactivation took the device from its application. */
  deactivations?: number[];
  /** Firmware updates that may be unprocessed, and the version of the list. */
  firmware?: QueuedFirmware[];
  firmwareChanges?: number;
  /** Time at which the sweeper completes the cancellations below the minimum activation epoch. */
  floorDueAt?: Date;
}

export interface CounterDocument {
  _id: string;
  next: number;
}

export const collections = {
  transactions: 'transactions',
  deviceCounters: 'heads',
  counters: 'counters',
  idempotency: 'idempotency',
} as const;

/** Every query of the service uses one of these indexes. */
export const transactionsIndexes: Record<string, IndexDescription[]> = {
  [collections.transactions]: [
    { key: { deviceId: 1, _id: 1 }, name: 'open_by_device', partialFilterExpression: { open: true } },
    { key: { status: 1, _id: 1 }, name: 'open_by_status', partialFilterExpression: { open: true } },
    { key: { dueAt: 1 }, name: 'due', sparse: true },
    { key: { cancelStamp: 1 }, name: 'cancel_stamp', sparse: true },
    { key: { 'wish.at': 1 }, name: 'wishes', sparse: true },
    { key: { applicationId: 1, _id: 1 }, name: 'by_application' },
    { key: { applicationId: 1, deviceId: 1, _id: 1 }, name: 'by_application_device' },
    { key: { applicationId: 1, status: 1, _id: 1 }, name: 'by_application_status' },
    { key: { applicationId: 1, operationId: 1, _id: 1 }, name: 'by_application_operation' },
  ],
  [collections.deviceCounters]: [{ key: { floorDueAt: 1 }, name: 'floor_due', sparse: true }],
};

/** Finds ended transactions by the time of their end, for the retention (ADR 0045). */
export const retentionIndexes: Record<string, IndexDescription[]> = {
  [collections.transactions]: [{ key: { 'end.at': 1 }, name: 'ended', sparse: true }],
};
