import type { Operation } from '@headset-cloud/proto/device_link/v1/device_link_pb.ts';
import { ResultForm } from '@headset-cloud/proto/operations.ts';
import { connectivityBody } from './forms/connectivity.ts';
import { formOf, isConnectivity } from './forms/operations.ts';
import type { CallbackKind, PendingCallback } from './pending-callbacks.ts';

/** The transaction that a callback is about. */
export interface CallbackSubject {
  readonly transactionId: number;
  readonly applicationId: string;
  readonly deviceId: string;
  readonly operationId: string;
  /** The last known progress of an update; 0 if there was none. */
  readonly progress: number;
  /** The operation; needed by the callbacks for which `needsOperation` is true. */
  readonly operation?: Operation['kind'];
}

/**
 * Maximum number of progress callbacks of one transaction, so that a faulty headset does not cause callbacks without
 * end. The sequence number of the end is then at most 1,000,000.
 */
export const maxProgressReports = 999_998;

/**
 * Sequence number of a callback within its transaction: start, progress reports, end, answer. The notifier sends the
 * callbacks in this order. After a delivered callback it sends the callback with the next number without a database
 * read. `progressReports` is the number of progress callbacks so far. This number no longer changes after the end, so
 * the numbers of the end and the answer are stable.
 */
export function callbackSequence(callback: PendingCallback, progressReports: number): number {
  switch (callback.kind) {
    case 'accepted':
      return 1;
    case 'progress':
      return 1 + (callback.step?.number ?? 1);
    case 'processed':
    case 'canceled':
      return 2 + progressReports;
    case 'answer':
      return 3 + progressReports;
  }
}

/** Returns the webhook-id. Each kind occurs once per transaction, progress once per report. */
export function callbackId(transactionId: number, callback: PendingCallback): string {
  const id = `tx-${transactionId}-${callback.kind}`;
  return callback.kind === 'progress' ? `${id}-${callback.step?.reportId ?? 0}` : id;
}

/** Whether the body of a callback depends on the operation. */
export function needsOperation(operationId: string, kind: CallbackKind): boolean {
  if (kind !== 'processed') return false;
  const form = formOf(operationId);
  return form === ResultForm.UNINSTALL || isConnectivity(form);
}

/**
 * Returns the body of a callback (specification Callbacks 3, rules A8 to A10). Most callbacks have the general form:
 * updates add their progress, an uninstallation adds its package. Connectivity results and the answers of called apps
 * have their own forms.
 */
export function callbackBody(subject: CallbackSubject, callback: PendingCallback): Record<string, unknown> {
  const common = {
    applicationId: subject.applicationId,
    deviceId: subject.deviceId,
    timestamp: callback.atMs,
    transactionId: subject.transactionId,
    operationId: subject.operationId,
  };
  if (callback.kind === 'answer') {
    return {
      ...common,
      success: callback.success,
      process: 'processed',
      message: callback.message,
      customData: callback.customData ?? '',
    };
  }
  const form = formOf(subject.operationId);
  if (isConnectivity(form) && callback.kind === 'processed') {
    return { ...common, ...connectivityBody(subject.operation, callback) };
  }
  const general = {
    ...common,
    notificationType: notificationTypes[callback.kind],
    result: callback.success ? 'success' : 'failure',
    message: callback.message,
  };
  // A cancellation has no extra fields, whatever the operation.
  if (callback.kind === 'canceled') return general;
  if (form === ResultForm.UPDATE) return { ...general, progress: progressOf(subject, callback) };
  if (form === ResultForm.UNINSTALL && callback.kind === 'processed') {
    const { operation } = subject;
    return { ...general, package: operation?.case === 'uninstall' ? operation.value.package : '' };
  }
  return general;
}

const notificationTypes = {
  accepted: 'accepted',
  progress: 'in_progress',
  processed: 'processed',
  canceled: 'processed',
} as const;

/** Progress of an update: 0 at the start, 1 after success, otherwise the last reported value. */
function progressOf(subject: CallbackSubject, callback: PendingCallback): number {
  if (callback.kind === 'progress') return callback.step?.value ?? 0;
  if (callback.kind === 'accepted') return 0;
  return callback.success ? 1 : subject.progress;
}

/** Message of a successful reset: the headset connected again and no longer holds the reset (rule B7). */
export const resetDoneMessage = 'reset success.';
