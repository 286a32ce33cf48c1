import type { Delivery } from './delivery.ts';
import { type AttemptResult, afterAttempt } from './outcome.ts';
import { minAttempts } from './time-limit.ts';

const hourMs = 3_600_000;
const rules = {
  backoff: { firstMs: 1000, maxMs: hourMs },
  limit: { maxAgeMs: 72 * hourMs, graceMs: 24 * hourMs, minAttempts },
};
const delivery: Delivery = {
  id: 'n-1',
  applicationId: 'a-1',
  destination: 'deviceEvent',
  orderKey: '',
  sequence: 0,
  order: 'none',
  after: null,
  replaceable: false,
  body: Buffer.alloc(0),
  status: 'pending',
  attempts: 0,
  createdAtMs: 0,
  budgetFromMs: 0,
  nextAttemptAtMs: 0,
  dueAtMs: 0,
  owner: 'i-1',
  takenOver: false,
  deliveredAtMs: 0,
  lastOutcome: '',
  recentAttempts: [],
  traceparent: '',
};
const result = (statusCode: number, atMs = 0, more: Partial<AttemptResult> = {}): AttemptResult => {
  return {
    atMs,
    durationMs: 5,
    statusCode,
    error: statusCode < 300 ? '' : `answered ${statusCode}`,
    ...more,
  };
};

test.each([200, 201, 204, 299])('%d delivers', (code) => {
  expect(afterAttempt(delivery, result(code), rules, 0, 0.5)).toMatchObject({
    status: 'delivered',
    attempts: 1,
    deliveredAtMs: 5,
    owner: null,
  });
});

test.each([0, 100, 301, 302, 308, 400, 401, 404, 429, 500, 503])('%d is retried', (code) => {
  expect(afterAttempt(delivery, result(code), rules, 0, 0.5)).toMatchObject({
    status: 'pending',
    nextAttemptAtMs: 505,
  });
});

test('410 ends the callback', () => {
  expect(afterAttempt(delivery, result(410), rules, 0, 0.5)).toMatchObject({ status: 'dead', owner: null });
});

test('a Retry-After takes precedence over the backoff', () => {
  const change = afterAttempt(delivery, result(503, 0, { retryAfterMs: 60_000 }), rules, 0, 0.5);
  expect(change).toMatchObject({ status: 'pending', nextAttemptAtMs: 60_005 });
});

test('the callback is retried until the time limit: the last attempt is at the limit, and then it is dead', () => {
  const old = { ...delivery, attempts: 200 };
  const last = afterAttempt(old, result(500, 72 * hourMs - 1000), rules, 0, 1 - Number.EPSILON);
  expect(last).toMatchObject({ status: 'pending', nextAttemptAtMs: 72 * hourMs });
  expect(afterAttempt(old, result(500, 72 * hourMs), rules, 0, 0)).toMatchObject({ status: 'dead' });
});

test('with fewer than ten attempts retries continue after the time limit, at most to the end of the grace period', () => {
  const old = { ...delivery, attempts: 8 };
  const ninth = afterAttempt(old, result(500, 72 * hourMs), rules, 0, 0.5);
  expect(ninth).toMatchObject({ status: 'pending', attempts: 9 });
  expect(ninth.nextAttemptAtMs).toBeGreaterThan(72 * hourMs);
  expect(afterAttempt({ ...old, ...ninth }, result(500, 73 * hourMs), rules, 0, 0.5).status).toBe('dead');
  const late = afterAttempt(old, result(500, 96 * hourMs - 1000), rules, 0, 1 - Number.EPSILON);
  expect(late).toMatchObject({ status: 'pending', nextAttemptAtMs: 96 * hourMs });
});

test('probes of its destination count as its attempts at the time limit', () => {
  const old = { ...delivery, attempts: 2 };
  expect(afterAttempt(old, result(500, 72 * hourMs), rules, 6, 0).status).toBe('pending');
  expect(afterAttempt(old, result(500, 72 * hourMs), rules, 7, 0).status).toBe('dead');
});

test('the first and the last 19 attempts are kept, oldest first; answers of the first and the last three attempts', () => {
  let present = delivery;
  for (let i = 0; i < 25; i++)
    present = {
      ...present,
      ...afterAttempt(present, { ...result(500, i), answer: `${i}` }, rules, 0, 0),
    };
  expect(present.attempts).toBe(25);
  expect(present.recentAttempts.map((attempt) => attempt.atMs)).toEqual([
    0,
    ...Array.from({ length: 19 }, (_, i) => i + 6),
  ]);
  expect(present.recentAttempts.flatMap(({ answer }) => answer ?? [])).toEqual(['0', '22', '23', '24']);
});
