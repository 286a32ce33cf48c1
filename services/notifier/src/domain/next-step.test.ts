import { Chain, type QueueEntry } from './chain.ts';
import type { Delivery } from './delivery.ts';
import {
  lanePauseMs,
  needsOwnership,
  nextStep,
  type Step,
  type Surroundings,
  type TryOutcome,
} from './next-step.ts';
import { type AttemptResult, afterAttempt } from './outcome.ts';
import { minAttempts } from './time-limit.ts';

// Written from rules A20, B8 to B10 and C10: each test names a guarantee, independent of the code.
const secondMs = 1000;
const hourMs = 3600 * secondMs;
const takenInMs = 1_700_000_000_000;
const rules = {
  backoff: { firstMs: secondMs, maxMs: hourMs },
  limit: { maxAgeMs: 72 * hourMs, graceMs: 24 * hourMs, minAttempts },
};

/** A callback of a transaction: no later one overtakes it (rule B10). */
const callback = (more: Partial<Delivery> = {}): Delivery => ({
  id: 'n-1',
  applicationId: 'a-1',
  destination: 'deviceEvent',
  orderKey: 't-1',
  sequence: 2,
  order: 'ended',
  after: null,
  replaceable: false,
  body: Buffer.alloc(0),
  status: 'pending',
  attempts: 0,
  createdAtMs: takenInMs,
  budgetFromMs: takenInMs,
  nextAttemptAtMs: takenInMs,
  dueAtMs: takenInMs + 10 * secondMs,
  owner: 'i-1',
  takenOver: false,
  deliveredAtMs: 0,
  lastOutcome: '',
  recentAttempts: [],
  traceparent: '',
  ...more,
});
/** A report of a headset: it waits for first attempts only (rule A20). */
const report = (more: Partial<Delivery> = {}) => callback({ order: 'tried', orderKey: 'd-1/a-1', ...more });
const progress = (more: Partial<Delivery> = {}) => callback({ replaceable: true, ...more });

const alone: Surroundings = {
  nowMs: takenInMs + secondMs,
  first: true,
  last: true,
  inOrder: true,
  crowded: false,
  stopping: false,
};
const around = (more: Partial<Surroundings>): Surroundings => ({ ...alone, ...more });

/** The outcome of a request that was answered with `statusCode` at `endMs`. */
function answered(delivery: Delivery, statusCode: number, endMs: number, probes = 0): TryOutcome {
  const error = statusCode >= 200 && statusCode < 300 ? '' : `answered ${statusCode}`;
  const result: AttemptResult = { atMs: endMs - 5, durationMs: 5, statusCode, error };
  return { kind: 'attempted', change: afterAttempt(delivery, result, rules, probes, 1 - Number.EPSILON) };
}
const statusOf = (step: Step) => ('change' in step ? step.change?.status : undefined);
/** The step after an answer at `endMs`, with a clock that shows this time. */
const after = (delivery: Delivery, statusCode: number, endMs: number, more: Partial<Surroundings> = {}) =>
  nextStep(delivery, answered(delivery, statusCode, endMs), around({ nowMs: endMs, ...more }));

describe('ownership', () => {
  it('a delivery after the lease was lost is stored, whatever instance owns the callback now', () => {
    const lost = callback({ dueAtMs: takenInMs - hourMs });
    const step = after(lost, 204, alone.nowMs);
    expect(step).toMatchObject({ kind: 'end', change: { status: 'delivered', owner: null } });
    expect(needsOwnership((step as { change: object }).change)).toBe(false);
  });

  it.each([
    ['a failure', 500, 0],
    ['a 410', 410, 0],
    ['the last failure', 500, 96 * hourMs],
  ])('%s after the lease was lost must not change the work of another instance', (_, statusCode, ageMs) => {
    const lost = callback({ dueAtMs: takenInMs - hourMs });
    const step = after(lost, statusCode, takenInMs + ageMs) as { change: object };
    expect(needsOwnership(step.change)).toBe(true);
  });

  it('a callback of another instance is dropped, and nothing is stored about it', () => {
    for (const delivery of [callback(), report(), progress()]) {
      expect(nextStep(delivery, { kind: 'lost' }, alone)).toEqual({ kind: 'drop' });
    }
  });
});

describe('72 hours and ten attempts', () => {
  const old = (attempts: number) => callback({ attempts });

  it('the tenth attempt fails exactly at the time limit: the callback is dead', () => {
    expect(statusOf(after(old(9), 500, takenInMs + 72 * hourMs))).toBe('dead');
  });

  it('the tenth attempt fails just before: the callback has one more attempt, at the time limit', () => {
    const step = after(old(9), 500, takenInMs + 72 * hourMs - 1);
    expect(step).toMatchObject({
      kind: 'wait',
      delayMs: 1,
      change: { status: 'pending', nextAttemptAtMs: takenInMs + 72 * hourMs },
    });
  });

  it('the ninth attempt fails at the time limit: retries continue, but not after 96 hours', () => {
    // Not at once, but after its backoff, which is longer than the longest wait in memory.
    expect(after(old(8), 500, takenInMs + 72 * hourMs)).toMatchObject({
      kind: 'release',
      untilMs: takenInMs + 72 * hourMs + 256 * secondMs,
      change: { status: 'pending', attempts: 9 },
    });
    expect(statusOf(after(old(8), 500, takenInMs + 96 * hourMs))).toBe('dead');
    expect(after(old(8), 500, takenInMs + 96 * hourMs - 1)).toMatchObject({
      change: { nextAttemptAtMs: takenInMs + 96 * hourMs },
    });
  });

  it.each([500, 204])('the time limit passes during a request, and the answer is %d', (statusCode) => {
    const step = after(old(20), statusCode, takenInMs + 97 * hourMs);
    expect(step).toMatchObject({
      kind: 'end',
      change: { status: statusCode === 204 ? 'delivered' : 'dead' },
    });
  });

  it('after the final limit the callback is dead without an attempt, and keeps its last outcome', () => {
    const now = takenInMs + 96 * hourMs;
    const over = (lastOutcome: string) =>
      nextStep(callback({ lastOutcome }), { kind: 'over' }, around({ nowMs: now }));
    const dead = { status: 'dead', owner: null, dueAtMs: now };
    expect(over('')).toMatchObject({ kind: 'end', change: { ...dead, lastOutcome: 'time limit reached' } });
    expect(over('answered 503')).toMatchObject({ change: { ...dead, lastOutcome: 'answered 503' } });
    expect(over('')).not.toHaveProperty('change.attempts');
  });

  it('without an address, or while devices or the database is unavailable, no attempt is used', () => {
    for (const kind of ['unset', 'unknown', 'deferred'] as const) {
      expect(nextStep(callback(), { kind }, alone)).toEqual({ kind: 'again' });
    }
  });
});

describe('a step of the wall clock', () => {
  it('set back during a request: the next attempt is left to the database, which corrects such times', () => {
    const step = after(callback(), 500, alone.nowMs, { nowMs: alone.nowMs - hourMs });
    expect(step).toMatchObject({ kind: 'release', untilMs: alone.nowMs + secondMs });
  });

  it('set forward: the callback is retried at once', () => {
    const step = after(callback(), 500, alone.nowMs, { nowMs: alone.nowMs + hourMs });
    expect(step).toMatchObject({ kind: 'wait', delayMs: 0 });
  });

  it('set back: a delivered callback stays delivered, at the time of its answer', () => {
    expect(after(callback(), 204, alone.nowMs, { nowMs: takenInMs - hourMs })).toMatchObject({
      kind: 'end',
      change: { status: 'delivered', deliveredAtMs: alone.nowMs },
    });
  });
});

describe('the order of a transaction', () => {
  it('later callbacks are not sent while it fails: its whole chain waits', () => {
    for (const last of [true, false]) {
      expect(after(callback(), 500, alone.nowMs, { last })).toMatchObject({
        kind: 'wait',
        delayMs: secondMs,
        finishesOrder: false,
      });
    }
  });

  it('its delivery lets the next callback be sent before the delivery is stored: a crash only causes a repeat', () => {
    expect(after(callback(), 204, alone.nowMs)).toMatchObject({ kind: 'end', finishesOrder: true });
  });

  it('an end without a delivery does not: after a crash it would be sent after the next one', () => {
    expect(after(callback(), 410, alone.nowMs)).toMatchObject({ kind: 'end', finishesOrder: false });
    for (const kind of ['over', 'overtaken'] as const) {
      expect(nextStep(callback(), { kind }, alone)).toMatchObject({ kind: 'end', finishesOrder: false });
    }
  });

  it('a callback that an operator sent again finishes no order: it is not in the order', () => {
    const again = callback({ order: 'none' });
    for (const code of [204, 410, 500]) {
      expect(after(again, code, alone.nowMs)).toMatchObject({ finishesOrder: false });
    }
  });
});

describe('a progress', () => {
  it('that failed is replaced by a later event, and keeps its attempts', () => {
    expect(after(progress(), 500, alone.nowMs, { last: false })).toMatchObject({
      kind: 'end',
      change: { status: 'replaced', owner: null, dueAtMs: alone.nowMs, attempts: 1 },
      finishesOrder: false,
    });
  });

  it('that was delivered meanwhile is delivered', () => {
    expect(statusOf(after(progress(), 204, alone.nowMs, { last: false }))).toBe('delivered');
  });

  it('that failed is retried if there is no later event', () => {
    expect(after(progress(), 500, alone.nowMs)).toMatchObject({
      kind: 'wait',
      change: { status: 'pending' },
    });
  });

  it('that was taken over is sent, not replaced, because its former owner may still send it', () => {
    const taken = progress({ takenOver: true });
    expect(statusOf(after(taken, 500, alone.nowMs, { last: false }))).toBe('pending');
  });

  it('that arrived after a delivered later event is replaced without an attempt', () => {
    const step = nextStep(progress(), { kind: 'overtaken' }, alone);
    expect(step).toMatchObject({ kind: 'end', change: { status: 'replaced', owner: null } });
    expect(step).not.toHaveProperty('change.attempts');
  });
});

describe('the order of reports', () => {
  it('a failed report leaves the order, so that the next may be sent, and is retried', () => {
    expect(after(report(), 500, alone.nowMs, { last: false })).toEqual({
      kind: 'wait',
      delayMs: secondMs,
      change: expect.objectContaining({ status: 'pending', order: 'none', attempts: 1 }),
      finishesOrder: true,
    });
  });

  it.each([204, 410, 500])(
    'a report that was sent out of order (answer %d) says nothing about earlier ones',
    (code) => {
      expect(after(report(), code, alone.nowMs, { inOrder: false })).toMatchObject({ finishesOrder: false });
    },
  );

  it('its first attempt counts, whatever the outcome', () => {
    for (const code of [204, 410]) {
      expect(after(report(), code, alone.nowMs)).toMatchObject({ kind: 'end', finishesOrder: true });
    }
  });

  it('a report without an attempt says nothing about earlier ones, and stays in the order', () => {
    for (const kind of ['lost', 'over', 'unset', 'unknown', 'deferred', 'aborted'] as const) {
      const step = nextStep(report(), { kind }, alone);
      expect('finishesOrder' in step && step.finishesOrder).toBe(false);
      expect('change' in step && step.change && 'order' in step.change).toBe(false);
    }
  });
});

describe('waiting for an earlier one', () => {
  const blocked = (untilMs: number): TryOutcome => ({ kind: 'blocked', untilMs });

  it('an earlier callback that joins the chain is sent first, at once, even if memory is short and at a shutdown', () => {
    for (const more of [{}, { crowded: true }, { stopping: true }]) {
      const step = nextStep(callback(), blocked(alone.nowMs + 300), around({ first: false, ...more }));
      expect(step).toEqual({ kind: 'again' });
    }
  });

  it('it waits in memory for a short time, and nothing is stored', () => {
    expect(nextStep(callback(), blocked(alone.nowMs + 300), alone)).toEqual({
      kind: 'wait',
      delayMs: 300,
      change: undefined,
      finishesOrder: false,
    });
  });

  it.each([
    ['for a long time', 30 * secondMs, {}],
    ['if memory is short', 300, { crowded: true }],
    ['at a shutdown', 300, { stopping: true }],
  ])('it waits in the database %s, where every instance finds it', (_, ms, more) => {
    expect(nextStep(callback(), blocked(alone.nowMs + ms), around(more))).toEqual({
      kind: 'release',
      untilMs: alone.nowMs + ms,
      change: undefined,
      finishesOrder: false,
    });
  });

  it('the destination recovers while an older callback waits: the older one is the first of the chain', () => {
    const entry = (sequence: number, more: Partial<Delivery> = {}): QueueEntry => ({
      delivery: callback({ id: `n-${sequence}`, sequence, ...more }),
      orderWaitUntilMs: 0,
    });
    const chain = new Chain('kt-1');
    const later = entry(2);
    chain.add(later);
    chain.working = later;
    // The destination delayed it while an earlier event of its order key arrived.
    const older = entry(1, { takenOver: true, replaceable: true });
    expect(chain.add(older)).toEqual([]);
    const step = nextStep(
      later.delivery,
      { kind: 'deferred' },
      around({ first: chain.first === later, last: chain.last === later }),
    );
    expect(step).toEqual({ kind: 'again' });
    expect(chain.first).toBe(older);
  });
});

describe('a shutdown', () => {
  it('an aborted request is not an attempt: the callback is given back unchanged', () => {
    expect(nextStep(callback(), { kind: 'aborted' }, around({ stopping: true }))).toEqual({
      kind: 'give back',
    });
  });

  it('a callback that fails during it waits in the database, and its attempt counts', () => {
    expect(after(callback(), 500, alone.nowMs, { stopping: true })).toMatchObject({
      kind: 'release',
      untilMs: alone.nowMs + secondMs,
      change: { attempts: 1 },
    });
  });

  it('a report that fails during it has left the order', () => {
    expect(after(report(), 500, alone.nowMs, { stopping: true })).toMatchObject({
      kind: 'release',
      change: { order: 'none' },
      finishesOrder: true,
    });
  });
});

test('during a pause of more than five seconds the callback waits in the database', () => {
  const wait = (pauseMs: number) =>
    nextStep(callback(), { kind: 'blocked', untilMs: alone.nowMs + pauseMs }, alone).kind;
  expect([wait(5 * secondMs), wait(5 * secondMs + 1)]).toEqual(['wait', 'release']);
});

test('only a missing address and an unknown address make a whole lane pause', () => {
  const pause = (kind: TryOutcome['kind'], unknownInARow = 1) =>
    lanePauseMs(kind, unknownInARow, 10_000, 0.5);
  expect(pause('unset')).toBe(10_000);
  // Jitter, so that lanes do not all read at once.
  expect(lanePauseMs('unset', 0, 10_000, 0)).toBe(8000);
  expect(lanePauseMs('unset', 0, 10_000, 1)).toBeCloseTo(12_000);
  // The pause grows while the address is unknown, up to ten seconds.
  const growing = [1, 2, 3, 4, 100].map((n) => pause('unknown', n));
  expect(growing).toEqual([...growing].sort((a, b) => a - b));
  expect(growing.at(-1)).toBeLessThanOrEqual(10_050);
  expect(growing[0]).toBeGreaterThanOrEqual(50);
  for (const kind of ['attempted', 'blocked', 'lost', 'over', 'deferred', 'aborted'] as const) {
    expect(pause(kind)).toBe(0);
  }
});
