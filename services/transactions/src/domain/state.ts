import type { AppAnswer, CallbackKind, End, PendingCallback } from './pending-callbacks.ts';

/**
 * States of a transaction (specification API 4, rule C7). This file contains the state machine as pure functions; the
 * store derives its conditional updates from them.
 */
export const statuses = ['created', 'published', 'accepted', 'processed', 'canceled'] as const;
export type Status = (typeof statuses)[number];

/** Events of a transaction. */
export const eventTypes = [
  // Dispatched to device-link, or waiting because the headset is offline.
  'published',
  // The headset requested the start, and may start.
  'accept',
  // The headset reports progress.
  'progress',
  // The headset requested the start, but is too old (rule C14).
  'reject',
  // The headset reports the end.
  'result',
  // The headset has given it up after a cancel request of the cloud (rule A11).
  'revoked',
  // The headset connected again without the reset: the reset is done (rule B7).
  'reset-done',
  // The called app has sent its answer (rule A8).
  'answer',
  // The integrator cancels while the headset is offline, or while it has a session.
  'cancel-offline',
  'cancel-online',
  // Superseded, retry limit exceeded, or below the minimum activation epoch.
  'cancel-by-platform',
] as const;
export type EventType = (typeof eventTypes)[number];

export interface Outcome {
  readonly status: Status;
  /** Callbacks of the change, in order. */
  readonly callbacks: readonly CallbackKind[];
}

/** Returns the outcome of an event in a state; undefined: the event has no effect. */
export function transition(status: Status, event: EventType): Outcome | undefined {
  const ended = isEnd(status);
  switch (event) {
    case 'published':
      return status === 'created' ? { status: 'published', callbacks: [] } : undefined;
    case 'accept':
      return status === 'created' || status === 'published'
        ? { status: 'accepted', callbacks: ['accepted'] }
        : undefined;
    case 'progress':
      return status === 'accepted' ? { status, callbacks: ['progress'] } : undefined;
    case 'reject':
      return status === 'created' || status === 'published'
        ? { status: 'processed', callbacks: ['processed'] }
        : undefined;
    case 'revoked':
      return ended ? undefined : { status: 'canceled', callbacks: ['canceled'] };
    case 'reset-done':
      return status === 'accepted' ? { status: 'processed', callbacks: ['processed'] } : undefined;
    case 'result':
      return ended ? undefined : { status: 'processed', callbacks: ['processed'] };
    case 'answer':
      if (status === 'processed') return { status, callbacks: ['answer'] };
      if (status === 'canceled') return undefined;
      return { status: 'processed', callbacks: ['processed', 'answer'] };
    case 'cancel-online':
      return status === 'created' ? { status: 'canceled', callbacks: ['canceled'] } : undefined;
    case 'cancel-offline':
      return status === 'created' || status === 'published'
        ? { status: 'canceled', callbacks: ['canceled'] }
        : undefined;
    case 'cancel-by-platform':
      return ended ? undefined : { status: 'canceled', callbacks: ['canceled'] };
  }
}

/** Returns the states in which an event leads to `to`: the condition of the store's update. */
export function statesBefore(event: EventType, to: Status): Status[] {
  return statuses.filter((s) => {
    const outcome = transition(s, event);
    return outcome?.status === to;
  });
}

/** An event with its data. Progress is handled separately (store/progress.ts). */
export type TransactionEvent =
  | { readonly type: 'accept' }
  | { readonly type: 'result' | 'reset-done'; readonly end: End }
  | { readonly type: 'answer'; readonly answer: AppAnswer }
  | {
      readonly type: 'reject' | 'revoked' | 'cancel-offline' | 'cancel-online' | 'cancel-by-platform';
      readonly message: string;
    };

/** Change of a transaction that is in one of the states `from`. */
export interface Change {
  readonly from: readonly Status[];
  readonly to: Status;
  /** Callbacks of the change, in order; the same write stores them in the outbox. */
  readonly callbacks: readonly PendingCallback[];
  /** Set if the change ends the transaction. */
  readonly end?: Pick<End, 'success' | 'message' | 'atMs'>;
  /** Set if the change accepts the transaction; milliseconds since 1970. */
  readonly acceptedAtMs?: number;
  /** Whether the state stays the same. */
  readonly stays: boolean;
}

function endOf(event: TransactionEvent, now: number): End {
  switch (event.type) {
    case 'result':
    case 'reset-done':
      return event.end;
    case 'answer': {
      const { success, message, atMs } = event.answer;
      return { success, message, atMs };
    }
    case 'accept':
      throw new Error('an accepted transaction has not ended');
    default:
      return { success: false, message: event.message, atMs: now };
  }
}

function callbackOf(kind: CallbackKind, event: TransactionEvent, now: number): PendingCallback {
  if (kind === 'accepted') return { kind, atMs: now, success: true, message: acceptedMessage };
  if (kind === 'answer' && event.type === 'answer') return { kind, ...event.answer };
  return { kind, ...endOf(event, now) };
}

/** Returns all changes of an event, one entry for each distinct outcome of `transition`. */
export function changesOf(event: TransactionEvent, now: number): readonly Change[] {
  const byOutcome = new Map<string, { from: Status[]; outcome: Outcome; stays: boolean }>();
  // Latest state first: states only advance, and most events occur in the later states.
  for (const from of statuses.toReversed()) {
    const outcome = transition(from, event.type);
    if (!outcome) continue;
    const stays = outcome.status === from;
    const key = `${outcome.status} ${stays} ${outcome.callbacks.join()}`;
    const sameOutcome = byOutcome.get(key);
    if (sameOutcome) sameOutcome.from.push(from);
    else byOutcome.set(key, { from: [from], outcome, stays });
  }
  return [...byOutcome.values()].map(({ from, outcome: { status: to, callbacks }, stays }) => {
    const ends = !stays && (to === 'processed' || to === 'canceled');
    const { success, message, atMs } = ends ? endOf(event, now) : { success: true, message: '', atMs: 0 };
    return {
      from,
      to,
      stays,
      callbacks: callbacks.map((kind) => callbackOf(kind, event, now)),
      ...(ends && { end: { success, message, atMs } }),
      ...(to === 'accepted' && !stays && { acceptedAtMs: now }),
    };
  });
}

/** Returns the first state of a transaction: created, or failed with `failMessage`. */
export function initialChange(failMessage: string | undefined, now: number): Omit<Change, 'from' | 'stays'> {
  if (failMessage === undefined) return { to: 'created', callbacks: [] };
  const end = { success: false, message: failMessage, atMs: now };
  return { to: 'processed', callbacks: [{ kind: 'processed', ...end }], end };
}

export const isEnd = (status: Status): boolean => status === 'processed' || status === 'canceled';

/** Message of the 'accepted' callback. */
export const acceptedMessage = 'The device has started the operation.';

/** The specification calls these states "unprocessed". */
export const openStatuses: readonly Status[] = ['created', 'published', 'accepted'];

/** Messages of cancellations (specification, error catalogues; rule A10). */
export const cancelMessages = {
  retryLimit: 'The transaction was canceled because the retry limit was exceeded.',
  newer: 'The transaction was canceled because there is a new transaction.',
  deactivation: 'The transaction was canceled because it occurred before deactivation.',
  reset: 'The transaction was canceled because it occurred before reset.',
  request: 'The transaction was canceled by a cancel request.',
} as const;
