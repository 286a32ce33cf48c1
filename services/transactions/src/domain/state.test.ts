import {
  changesOf,
  type EventType,
  eventTypes,
  initialChange,
  type Status,
  statesBefore,
  statuses,
  transition,
} from './state.ts';

// State × event → next state and callbacks. '-': no effect.
const table: Record<Status, Record<EventType, string>> = {
  created: {
    published: 'published',
    accept: 'accepted +accepted',
    progress: '-',
    reject: 'processed +processed',
    result: 'processed +processed',
    revoked: 'canceled +canceled',
    'reset-done': '-',
    answer: 'processed +processed+answer',
    'cancel-offline': 'canceled +canceled',
    'cancel-online': 'canceled +canceled',
    'cancel-by-platform': 'canceled +canceled',
  },
  published: {
    published: '-',
    accept: 'accepted +accepted',
    progress: '-',
    reject: 'processed +processed',
    result: 'processed +processed',
    revoked: 'canceled +canceled',
    'reset-done': '-',
    answer: 'processed +processed+answer',
    'cancel-offline': 'canceled +canceled',
    'cancel-online': '-',
    'cancel-by-platform': 'canceled +canceled',
  },
  accepted: {
    published: '-',
    accept: '-',
    progress: 'accepted +progress',
    reject: '-',
    result: 'processed +processed',
    revoked: 'canceled +canceled',
    'reset-done': 'processed +processed',
    answer: 'processed +processed+answer',
    'cancel-offline': '-',
    'cancel-online': '-',
    'cancel-by-platform': 'canceled +canceled',
  },
  processed: {
    published: '-',
    accept: '-',
    progress: '-',
    reject: '-',
    result: '-',
    revoked: '-',
    'reset-done': '-',
    answer: 'processed +answer',
    'cancel-offline': '-',
    'cancel-online': '-',
    'cancel-by-platform': '-',
  },
  canceled: {
    published: '-',
    accept: '-',
    progress: '-',
    reject: '-',
    result: '-',
    revoked: '-',
    'reset-done': '-',
    answer: '-',
    'cancel-offline': '-',
    'cancel-online': '-',
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
    expect(statesBefore('accept', 'accepted')).toEqual(['created', 'published']);
    expect(statesBefore('progress', 'accepted')).toEqual(['accepted']);
    expect(statesBefore('reject', 'processed')).toEqual(['created', 'published']);
    expect(statesBefore('reset-done', 'processed')).toEqual(['accepted']);
    expect(statesBefore('result', 'processed')).toEqual(['created', 'published', 'accepted']);
    expect(statesBefore('cancel-online', 'canceled')).toEqual(['created']);
    expect(statesBefore('cancel-offline', 'canceled')).toEqual(['created', 'published']);
  });
});

describe('changes of an event', () => {
  const now = 1_000;
  const end = { success: true, message: 'done', atMs: 900 };
  const answer = { success: false, message: 'no', customData: 'x', atMs: 950 };

  it('an acceptance causes a callback with its time', () => {
    expect(changesOf({ type: 'accept' }, now)).toEqual([
      {
        from: ['published', 'created'],
        to: 'accepted',
        stays: false,
        callbacks: [
          { kind: 'accepted', atMs: now, success: true, message: 'The device has started the operation.' },
        ],
        acceptedAtMs: now,
      },
    ]);
  });

  it('a result ends it, at the time that the headset reports', () => {
    expect(changesOf({ type: 'result', end }, now)).toEqual([
      {
        from: ['accepted', 'published', 'created'],
        to: 'processed',
        stays: false,
        callbacks: [{ kind: 'processed', ...end }],
        end,
      },
    ]);
  });

  it('a headset’s findings are part of the callback, not of the end', () => {
    const connectivity = { statusCode: 200, state: 'enabled', devices: [], networks: [] } as const;
    const [change] = changesOf({ type: 'result', end: { ...end, connectivity } }, now);
    expect(change?.callbacks).toEqual([{ kind: 'processed', ...end, connectivity }]);
    expect(change?.end).toEqual(end);
  });

  it('an answer follows an existing result, or ends the transaction', () => {
    const { customData, ...result } = answer;
    expect(changesOf({ type: 'answer', answer }, now)).toEqual([
      { from: ['processed'], to: 'processed', stays: true, callbacks: [{ kind: 'answer', ...answer }] },
      {
        from: ['accepted', 'published', 'created'],
        to: 'processed',
        stays: false,
        callbacks: [
          { kind: 'processed', ...result },
          { kind: 'answer', ...result, customData },
        ],
        end: result,
      },
    ]);
  });

  it.each(['reject', 'revoked', 'cancel-offline', 'cancel-online', 'cancel-by-platform'] as const)(
    '%s ends it as a failure with its message, now',
    (type) => {
      const changes = changesOf({ type, message: 'why' }, now);
      expect(changes).toHaveLength(1);
      const failure = { success: false, message: 'why', atMs: now };
      const kind = type === 'reject' ? 'processed' : 'canceled';
      expect(changes[0]).toMatchObject({ to: kind, callbacks: [{ kind, ...failure }], end: failure });
    },
  );

  it('a transaction begins as created, or as failed with a message', () => {
    expect(initialChange(undefined, now)).toEqual({ to: 'created', callbacks: [] });
    const failure = { success: false, message: 'why', atMs: now };
    expect(initialChange('why', now)).toEqual({
      to: 'processed',
      callbacks: [{ kind: 'processed', ...failure }],
      end: failure,
    });
  });
});
