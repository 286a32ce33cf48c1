import {
  callbacksOf,
  type EventType,
  eventTypes,
  type Status,
  statesThatTake,
  statuses,
  transition,
} from './state.ts';

// The whole table: state × event → next state and callbacks. '-' means nothing happens, 'recorded' kept only.
const table: Record<Status, Record<EventType, string>> = {
  created: {
    published: 'published',
    accept: 'accepted +accepted',
    progress: '-',
    refuse: 'processed +processed',
    result: 'processed +processed',
    revoked: 'canceled +canceled',
    'reset-done': '-',
    answer: 'processed +processed+answer',
    'cancel-away': 'canceled +canceled',
    'cancel-reachable': 'canceled +canceled',
    'cancel-by-platform': 'canceled +canceled',
  },
  published: {
    published: '-',
    accept: 'accepted +accepted',
    progress: '-',
    refuse: 'processed +processed',
    result: 'processed +processed',
    revoked: 'canceled +canceled',
    'reset-done': '-',
    answer: 'processed +processed+answer',
    'cancel-away': 'canceled +canceled',
    'cancel-reachable': '-',
    'cancel-by-platform': 'canceled +canceled',
  },
  accepted: {
    published: '-',
    accept: '-',
    progress: 'accepted +progress',
    refuse: '-',
    result: 'processed +processed',
    revoked: 'canceled +canceled',
    'reset-done': 'processed +processed',
    answer: 'processed +processed+answer',
    'cancel-away': '-',
    'cancel-reachable': '-',
    'cancel-by-platform': 'canceled +canceled',
  },
  processed: {
    published: '-',
    accept: '-',
    progress: '-',
    refuse: '-',
    result: 'recorded',
    revoked: 'recorded',
    'reset-done': '-',
    answer: 'processed +answer',
    'cancel-away': '-',
    'cancel-reachable': '-',
    'cancel-by-platform': '-',
  },
  canceled: {
    published: '-',
    accept: '-',
    progress: '-',
    refuse: '-',
    result: 'recorded',
    revoked: 'recorded',
    'reset-done': '-',
    answer: 'recorded',
    'cancel-away': '-',
    'cancel-reachable': '-',
    'cancel-by-platform': '-',
  },
};

// proves api/4/cancel-created, api/4/cancel-not-accepted, api/4/cancel-not-processed
describe('the life of a transaction', () => {
  for (const status of statuses) {
    for (const event of eventTypes) {
      it(`${status} × ${event} → ${table[status][event]}`, () => {
        const outcome = transition(status, event);
        const shown = !outcome
          ? '-'
          : outcome.recorded
            ? 'recorded'
            : `${outcome.status}${outcome.callbacks.length ? ` ${outcome.callbacks.map((c) => `+${c}`).join('')}` : ''}`;
        expect(shown).toBe(table[status][event]);
      });
    }
  }

  it('never leaves an end state', () => {
    for (const event of eventTypes) {
      for (const end of ['processed', 'canceled'] as const) {
        expect(transition(end, event)?.status ?? end).toBe(end);
      }
    }
  });

  it('derives the conditions of the conditional updates', () => {
    expect(statesThatTake('accept', 'accepted')).toEqual(['created', 'published']);
    expect(statesThatTake('progress', 'accepted')).toEqual(['accepted']);
    expect(statesThatTake('refuse', 'processed')).toEqual(['created', 'published']);
    expect(statesThatTake('reset-done', 'processed')).toEqual(['accepted']);
    expect(statesThatTake('result', 'processed')).toEqual(['created', 'published', 'accepted']);
    expect(statesThatTake('cancel-reachable', 'canceled')).toEqual(['created']);
    expect(statesThatTake('cancel-away', 'canceled')).toEqual(['created', 'published']);
    expect(callbacksOf('answer', 'accepted')).toEqual(['processed', 'answer']);
  });
});
