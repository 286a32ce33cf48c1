import type { IndexDescription } from '@headset-cloud/store/operations.ts';
import type { Binary } from 'mongodb';
import type { QueuedFirmware } from '../domain/firmware.ts';
import type { OwedCallback } from '../domain/owed.ts';
import type { Status } from '../domain/state.ts';
import type { ReportedProgress } from '../ports/transitions.ts';

/** A transaction as it is stored; the only judge of what may happen to it (rule B1). */
export interface TransactionDocument {
  /** transactionId: a safe integer, unique, rising with creation for a device. */
  _id: number;
  deviceId: string;
  applicationId: string;
  operationId: string;
  subject: string;
  status: Status;
  /** True while unprocessed; absent afterwards, so that the partial index stays small. */
  open?: true;
  activationEpoch: number;
  /** The protobuf Operation for the headset; absent once it was canceled, as it may have 1 MiB. */
  operation?: Binary;
  createdAt: Date;
  updatedAt: Date;
  /** Re-deliveries that counted (rule B6). */
  attempts: number;
  /** Epoch of the newest session it was sent to, or judged for; 0 if none. */
  sentEpoch: number;
  /** Epoch of the newest session whose hello showed that the headset has lost it; removed when it has it again (ADR 0057). */
  lostEpoch?: number;
  /** When a re-delivery last counted, and how far the transaction had come by then (rule B6). */
  counted?: { at?: Date; advance?: number };
  /** The cancellation that waits for the headset's consent (rule A11). */
  wish?: { message: string; at: Date };
  /** When it was accepted: no later callback is dated before it (rule A20). Milliseconds since 1970. */
  acceptedAtMs?: number;
  /** A headset with an older client or firmware may not start it (rule C14). */
  minimumClientVersion?: string;
  minimumFirmwareVersion?: string;
  /** Callbacks not known to be in the log yet, oldest first; progress has its own field. */
  outbox?: OwedCallback[];
  /** The newest report of an update's progress; it replaces the one before, published or not. */
  progress?: ProgressField;
  /** Rises with each owed callback; the outbox is cleared only if it has not changed meanwhile. */
  outboxSeq: number;
  /** When the sweeper has to look at it, because it was not handed over yet or owes callbacks. */
  dueAt?: Date;
  /** Set once ended. */
  end?: { success: boolean; message: string; at: Date; atMs?: number };
  /** The called app has answered (rule A8): at most once. */
  answeredAt?: Date;
  /** The cancel request that canceled it (rule B8). */
  cancelStamp?: string;
  /** Which of several callers has accepted it, or ended it by a result, until its outbox is cleared (ADR 0049). */
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
  /** The latest time of all progress reports; milliseconds since 1970. */
  latestAtMs: number;
  /** The highest value so far. */
  best: number;
  /** Number of progress callbacks so far. */
  count: number;
  /** True while its callback is not known to be in the log. */
  owed?: true;
  /** When the newest progress callback was owed; milliseconds since 1970, by the cloud's clock. */
  owedAtMs: number;
  /** The newest report, while it waits for the end of its interval (rule A9). */
  deferred?: ReportedProgress;
}

/** One document per device (rule B4; the floor is an activation epoch, ADR 0004). */
export interface HeadDocument {
  /** Device id. */
  _id: string;
  /** Highest transaction id created for the device. */
  lastId: number;
  /** The newest ids in the order in which they raised the head; absent: raised by an earlier version. */
  lately?: number[];
  /** Newest activation epoch that transactions has seen. */
  epoch: number;
  /** Everything of an older activation epoch is over. */
  floor?: { epoch: number; reason: 'deactivation' | 'reset' };
  /**
   * Activation epochs of the newest deactivations, rising; each ended the device's time at an application.
   */
  deactivations?: number[];
  /** Firmware updates that may be unprocessed, and how often the list was changed. */
  firmware?: QueuedFirmware[];
  firmwareChanges?: number;
  /** When the sweeper has to finish the cancellations that the floor asks for. */
  floorDueAt?: Date;
}

export interface CounterDocument {
  _id: string;
  next: number;
}

export const collections = {
  transactions: 'transactions',
  heads: 'heads',
  counters: 'counters',
  idempotency: 'idempotency',
} as const;

/** Every query of the service uses one of these. */
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
  [collections.heads]: [{ key: { floorDueAt: 1 }, name: 'floor_due', sparse: true }],
};

/** Finds ended transactions by the time of their end, to delete them (ADR 0045). */
export const retentionIndexes: Record<string, IndexDescription[]> = {
  [collections.transactions]: [{ key: { 'end.at': 1 }, name: 'ended', sparse: true }],
};
