import type { Operation } from '@headset-cloud/proto/device_link/v1/device_link_pb.ts';
import { ResultForm } from '@headset-cloud/proto/operations.ts';
import { connectivityBody } from './forms/connectivity.ts';
import { formOf, isConnectivity } from './forms/operations.ts';
import type { CallbackKind, OwedCallback } from './owed.ts';

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

/** Most reports of progress that one transaction passes on. */
export const maxProgressReports = 999_998;

/**
 * Sequence number of one transaction's callbacks: the start, `progressReports` progress reports so far, the
 * end, the answer. Each number is one above that of the callback before, so a receiver that has the one
 * before knows that none is missing. An ended transaction has no more progress, so the numbers of its end
 * and answer do not change.
 */
export function callbackSequence(owed: OwedCallback, progressReports: number): number {
  switch (owed.kind) {
    case 'accepted':
      return 1;
    case 'progress':
      return 1 + (owed.step?.number ?? 1);
    case 'processed':
    case 'canceled':
      return 2 + progressReports;
    case 'answer':
      return 3 + progressReports;
  }
}

/** The webhook-id: each kind happens once in a transaction's life, progress once for each report. */
export function callbackId(transactionId: number, owed: OwedCallback): string {
  const id = `tx-${transactionId}-${owed.kind}`;
  return owed.kind === 'progress' ? `${id}-${owed.step?.reportId ?? 0}` : id;
}

/** True when the body of a callback depends on the operation. */
export function needsOperation(operationId: string, kind: CallbackKind): boolean {
  if (kind !== 'processed') return false;
  const form = formOf(operationId);
  return form === ResultForm.UNINSTALL || isConnectivity(form);
}

/**
 * The body of a callback (specification Callbacks 3, rules A8 to A10): the
 * general form, for updates with their progress, for an uninstallation with the package; the forms of
 * connectivity results; and the command form for the called app's own answer.
 */
export function callbackBody(subject: CallbackSubject, owed: OwedCallback): Record<string, unknown> {
  const common = {
    applicationId: subject.applicationId,
    deviceId: subject.deviceId,
    timestamp: owed.atMs,
    transactionId: subject.transactionId,
    operationId: subject.operationId,
  };
  if (owed.kind === 'answer') {
    return {
      ...common,
      success: owed.success,
      process: 'processed',
      message: owed.message,
      customData: owed.customData ?? '',
    };
  }
  const form = formOf(subject.operationId);
  if (isConnectivity(form) && owed.kind === 'processed') {
    return { ...common, ...connectivityBody(subject.operation, owed) };
  }
  const general = {
    ...common,
    notificationType: notificationTypes[owed.kind],
    result: owed.success ? 'success' : 'failure',
    message: owed.message,
  };
  // A cancellation has no extra fields, whatever the operation.
  if (owed.kind === 'canceled') return general;
  if (form === ResultForm.UPDATE) return { ...general, progress: progressOf(subject, owed) };
  if (form === ResultForm.UNINSTALL && owed.kind === 'processed') {
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

/** 0 at the start, the reported value in between, 1 after success; after a failure the last known value. */
function progressOf(subject: CallbackSubject, owed: OwedCallback): number {
  if (owed.kind === 'progress') return owed.step?.value ?? 0;
  if (owed.kind === 'accepted') return 0;
  return owed.success ? 1 : subject.progress;
}

/** Message of a reset whose headset came back without it (rule B7). */
export const resetDoneMessage = 'reset success.';
