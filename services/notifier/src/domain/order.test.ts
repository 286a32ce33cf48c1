import { lookAgainAtMs, patienceMs } from './order.ts';

const now = 1_700_000_000_000;
const minuteMs = 60_000;
const unlimited = Number.POSITIVE_INFINITY;

test('a report waits no longer than its patience, a callback of a transaction without a limit', () => {
  expect(patienceMs({ order: 'tried' }, 5000, 4000)).toBe(1000);
  expect(patienceMs({ order: 'tried' }, 5000, 5000)).toBe(0);
  expect(patienceMs({ order: 'tried' }, 5000, 9000)).toBeLessThan(0);
  expect(patienceMs({ order: 'ended' }, 5000, 9000)).toBe(unlimited);
});

test('what has no order, or lost it, waits for nothing', () => {
  expect(patienceMs({ order: 'none' }, unlimited, 0)).toBe(0);
});

test('an earlier one is looked at again when it is planned', () => {
  expect(lookAgainAtMs({ owner: null, dueAtMs: now + 5000 }, now, unlimited)).toBe(now + 5000);
});

test('one that an instance works on is looked at soon, whatever its lease', () => {
  const soon = lookAgainAtMs({ owner: 'i-2', dueAtMs: now + minuteMs }, now, unlimited);
  expect(soon).toBeGreaterThan(now);
  expect(soon).toBeLessThan(now + 1000);
});

test('one that is due already, as after a step of the clock, is not asked for without a pause', () => {
  expect(lookAgainAtMs({ owner: null, dueAtMs: now - 60 * minuteMs }, now, unlimited)).toBeGreaterThan(now);
});

test('one that is planned far ahead is looked at within half a minute: it may end before', () => {
  expect(lookAgainAtMs({ owner: null, dueAtMs: now + 60 * minuteMs }, now, unlimited)).toBe(now + 30_000);
});

test('the patience ends the wait, also where it is shorter than any pause', () => {
  expect(lookAgainAtMs({ owner: null, dueAtMs: now + minuteMs }, now, 2000)).toBe(now + 2000);
  expect(lookAgainAtMs({ owner: 'i-2', dueAtMs: now + minuteMs }, now, 10)).toBe(now + 10);
});
