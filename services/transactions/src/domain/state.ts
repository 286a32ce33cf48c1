/**
 * The life of a transaction (specification API 4, rule C7) as a pure function over
 * data. The store derives its conditional updates from it, so this table is the only truth.
 */
export const statuses = ['created', 'published', 'accepted', 'processed', 'canceled'] as const;
export type Status = (typeof statuses)[number];

/** What can happen to a transaction. */
export const eventTypes = [
  // Handed to device-link, or found waiting because the headset is away.
  'published',
  // The headset asked to start it, and may.
  'accept',
  // The headset tells how far it is.
  'progress',
  // The headset asked to start it, but its client is too old (rule C14).
  'refuse',
  // The headset reports its end.
  'result',
  // The headset has left what the cloud wished to cancel (rule A11).
  'revoked',
  // A wiped headset is back: its reset is done (rule B7).
  'reset-done',
  // The called app answers by itself (rule A8).
  'answer',
  // The integrator cancels while the headset is away, or while it has a session.
  'cancel-away',
  'cancel-reachable',
  // Superseded, out of retries, or below the floor of a deactivation or reset.
  'cancel-by-platform',
] as const;
export type EventType = (typeof eventTypes)[number];

/** Callbacks in the order in which they go out for one transaction; progress any number of times. */
export type CallbackKind = 'accepted' | 'progress' | 'processed' | 'canceled' | 'answer';

export interface Outcome {
  readonly status: Status;
  /** Callbacks that this change causes, in order. */
  readonly callbacks: readonly CallbackKind[];
  /** True: the event is kept with the transaction but changes nothing ("recorded, never applied"). */
  readonly recorded?: true;
}

/** What an event does to a transaction in a state; undefined: nothing at all. */
export function transition(status: Status, event: EventType): Outcome | undefined {
  const ended = status === 'processed' || status === 'canceled';
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
      return ended
        ? { status, callbacks: [], recorded: true }
        : { status: 'canceled', callbacks: ['canceled'] };
    case 'reset-done':
      return status === 'accepted' ? { status: 'processed', callbacks: ['processed'] } : undefined;
    case 'result':
      return ended
        ? { status, callbacks: [], recorded: true }
        : { status: 'processed', callbacks: ['processed'] };
    case 'answer':
      if (status === 'processed') return { status, callbacks: ['answer'] };
      if (status === 'canceled') return { status, callbacks: [], recorded: true };
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
    return outcome !== undefined && !outcome.recorded && outcome.status === to;
  });
}

/** The callbacks an event causes on its way to `to`; the same from every state that takes it there. */
export function callbacksOf(event: EventType, from: Status): readonly CallbackKind[] {
  return transition(from, event)?.callbacks ?? [];
}

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
