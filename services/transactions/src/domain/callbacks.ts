import type { CallbackKind } from './state.ts';

/** One callback a transaction owes, as it waits in the transaction's outbox. */
export interface OwedCallback {
  readonly kind: CallbackKind;
  /** Milliseconds since 1970; becomes the body's timestamp. */
  readonly atMs: number;
  readonly success: boolean;
  readonly message: string;
  /** Only of an app's own answer. */
  readonly customData?: string;
}

/** Whose callback it is. */
export interface CallbackSubject {
  readonly transactionId: number;
  readonly applicationId: string;
  readonly deviceId: string;
  readonly operationId: string;
}

/** Place in the order of one transaction's callbacks; gaps are left for progress. */
export const callbackSequence: Record<CallbackKind, number> = {
  accepted: 1,
  processed: 1_000_000,
  canceled: 1_000_000,
  answer: 1_000_001,
};

/** The webhook-id: each kind happens once in a transaction's life. */
export function callbackId(transactionId: number, kind: CallbackKind): string {
  return `tx-${transactionId}-${kind}`;
}

/**
 * The body of a callback (specification callbacks-and-site.md section 3, rulings A8 to A10): the
 * general form, and the command form for the called app's own answer.
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
  return {
    ...common,
    notificationType: owed.kind === 'accepted' ? 'accepted' : 'processed',
    result: owed.success ? 'success' : 'failure',
    message: owed.message,
  };
}

/** Message of the 'accepted' callback. */
export const acceptedMessage = 'The device has started the operation.';
