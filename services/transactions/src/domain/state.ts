import type { AppAnswer, CallbackKind, End, OwedCallback } from './owed.ts';

/**
 * The life of a transaction (specification API 4, rule C7) as a pure function over
 * data: the table of states and events, and what each event changes. The store writes just that.
 */
export const statuses = ['created', 'published', 'accepted', 'processed', 'canceled'] as const;
export type Status = (typeof statuses)[number];

/** What can happen to a transaction. */
export const eventTypes = [
  // Handed to device-link, or waiting because the headset is offline.
  'published',
  // The headset asked to start it, and may start.
  'accept',
  // The headset reports progress.
  'progress',
  // The headset asked to start it, but its client is too old (rule C14).
  'refuse',
  // The headset reports its end.
  'result',
  // The headset has given it up because the cloud wished to cancel it (rule A11).
  'revoked',
  // A wiped headset is back: its reset is done (rule B7).
  'reset-done',
  // The called app has sent its own answer (rule A8).
  'answer',
  // The integrator cancels while the headset is away, or while it has a session.
  'cancel-away',
  'cancel-reachable',
  // Superseded, out of retries, or below the floor of a deactivation or reset.
  'cancel-by-platform',
] as const;
export type EventType = (typeof eventTypes)[number];

export interface Outcome {
  readonly status: Status;
  /** Callbacks that this change causes, in order. */
  readonly callbacks: readonly CallbackKind[];
}

/** What an event does to a transaction in a state; undefined: nothing. */
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
    case 'refuse':
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
    case 'cancel-reachable':
      return status === 'created' ? { status: 'canceled', callbacks: ['canceled'] } : undefined;
    case 'cancel-away':
      return status === 'created' || status === 'published'
        ? { status: 'canceled', callbacks: ['canceled'] }
        : undefined;
    case 'cancel-by-platform':
      return ended ? undefined : { status: 'canceled', callbacks: ['canceled'] };
  }
}

/** The states in which an event leads to `to`: the condition of the store's conditional update. */
export function statesThatTake(event: EventType, to: Status): Status[] {
  return statuses.filter((s) => {
    const outcome = transition(s, event);
    return outcome?.status === to;
  });
}

/** An event with its data. Progress is handled apart (store/progress.ts). */
export type TransactionEvent =
  | { readonly type: 'accept' }
  | { readonly type: 'result' | 'reset-done'; readonly end: End }
  | { readonly type: 'answer'; readonly answer: AppAnswer }
  | {
      readonly type: 'refuse' | 'revoked' | 'cancel-away' | 'cancel-reachable' | 'cancel-by-platform';
      readonly message: string;
    };

/** What an event changes in a transaction that is in one of the states `from`. */
export interface Change {
  readonly from: readonly Status[];
  readonly to: Status;
  /** Callbacks that it causes, in order; they enter the outbox in the same write. */
  readonly owed: readonly OwedCallback[];
  /** How it ended, if it ends. */
  readonly end?: Pick<End, 'success' | 'message' | 'atMs'>;
  /** When it was accepted, if it is. */
  readonly acceptedAtMs?: number;
  /** True: the state does not change. */
  readonly stays: boolean;
}

/** The end that an event gives a transaction. */
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

function owedOf(kind: CallbackKind, event: TransactionEvent, now: number): OwedCallback {
  if (kind === 'accepted') return { kind, atMs: now, success: true, message: acceptedMessage };
  if (kind === 'answer' && event.type === 'answer') return { kind, ...event.answer };
  return { kind, ...endOf(event, now) };
}

/**
 * All changes of an event: one entry for each matching row of the table. The store writes exactly these.
 */
export function changesOf(event: TransactionEvent, now: number): readonly Change[] {
  const ways = new Map<string, { from: Status[]; outcome: Outcome; stays: boolean }>();
  // Latest state first: a transaction only goes forward, and most events come in its late states.
  for (const from of statuses.toReversed()) {
    const outcome = transition(from, event.type);
    if (!outcome) continue;
    const stays = outcome.status === from;
    const way = `${outcome.status} ${stays} ${outcome.callbacks.join()}`;
    const known = ways.get(way);
    if (known) known.from.push(from);
    else ways.set(way, { from: [from], outcome, stays });
  }
  return [...ways.values()].map(({ from, outcome: { status: to, callbacks }, stays }) => {
    const ends = !stays && (to === 'processed' || to === 'canceled');
    const { success, message, atMs } = ends ? endOf(event, now) : { success: true, message: '', atMs: 0 };
    return {
      from,
      to,
      stays,
      owed: callbacks.map((kind) => owedOf(kind, event, now)),
      ...(ends && { end: { success, message, atMs } }),
      ...(to === 'accepted' && !stays && { acceptedAtMs: now }),
    };
  });
}

/** The first state of a transaction: created; or ended at once, as a failure with `failMessage`. */
export function beginning(failMessage: string | undefined, now: number): Omit<Change, 'from' | 'stays'> {
  if (failMessage === undefined) return { to: 'created', owed: [] };
  const end = { success: false, message: failMessage, atMs: now };
  return { to: 'processed', owed: [{ kind: 'processed', ...end }], end };
}

/** True: it has ended. */
export const isEnd = (status: Status): boolean => status === 'processed' || status === 'canceled';

/** Message of the 'accepted' callback. */
export const acceptedMessage = 'The device has started the operation.';

/** Unprocessed, in the specification's words. */
export const openStatuses: readonly Status[] = ['created', 'published', 'accepted'];

/** Messages of cancellations (specification, error catalogues; rule A10). */
export const cancelMessages = {
  retryLimit: 'The transaction was canceled because the retry limit was exceeded.',
  newer: 'The transaction was canceled because there is a new transaction.',
  deactivation: 'The transaction was canceled because it occurred before deactivation.',
  reset: 'The transaction was canceled because it occurred before reset.',
  request: 'The transaction was canceled by a cancel request.',
} as const;
