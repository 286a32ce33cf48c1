import { nextCheckAtMs, remainingWaitMs } from './order.ts';

const now = 1_700_000_000_000;
const minuteMs = 60_000;
const unlimited = Number.POSITIVE_INFINITY;

test('a report waits at most for its maximum wait, a callback of a transaction without a limit', () => {
  expect(remainingWaitMs({ order: 'tried' }, 5000, 4000)).toBe(1000);
  expect(remainingWaitMs({ order: 'tried' }, 5000, 5000)).toBe(0);
  expect(remainingWaitMs({ order: 'tried' }, 5000, 9000)).toBeLessThan(0);
  expect(remainingWaitMs({ order: 'ended' }, 5000, 9000)).toBe(unlimited);
});

test('a callback without an order, or that left it, does not wait', () => {
  expect(remainingWaitMs({ order: 'none' }, unlimited, 0)).toBe(0);
});

test('an earlier callback is checked again at its planned time', () => {
  expect(nextCheckAtMs({ owner: null, dueAtMs: now + 5000 }, now, unlimited)).toBe(now + 5000);
});

test('an earlier callback that an instance works on is checked again soon, whatever its lease', () => {
  const soon = nextCheckAtMs({ owner: 'i-2', dueAtMs: now + minuteMs }, now, unlimited);
  expect(soon).toBeGreaterThan(now);
  expect(soon).toBeLessThan(now + 1000);
});

test('an overdue callback, for example after a clock step, is checked only after a pause', () => {
  expect(nextCheckAtMs({ owner: null, dueAtMs: now - 60 * minuteMs }, now, unlimited)).toBeGreaterThan(now);
});

test('a callback planned far in the future is checked within half a minute, because it may end before', () => {
  expect(nextCheckAtMs({ owner: null, dueAtMs: now + 60 * minuteMs }, now, unlimited)).toBe(now + 30_000);
});

test('the maximum wait ends the wait, even if it is shorter than any pause', () => {
  expect(nextCheckAtMs({ owner: null, dueAtMs: now + minuteMs }, now, 2000)).toBe(now + 2000);
  expect(nextCheckAtMs({ owner: 'i-2', dueAtMs: now + minuteMs }, now, 10)).toBe(now + 10);
});
