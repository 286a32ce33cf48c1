import { CircuitBreaker } from './circuit-breaker.ts';

const rules = { maxInFlight: 3, failingAfter: 2, probeFirstMs: 100, probeMaxMs: 1000 };
const almostOne = 1 - Number.EPSILON;

function enter(breaker: CircuitBreaker, count: number): void {
  for (let i = 0; i < count; i++) breaker.enter();
}

test('a healthy destination gets callbacks up to the limit', () => {
  const breaker = new CircuitBreaker(rules);
  enter(breaker, 2);
  expect(breaker.mayStart(0)).toBe(true);
  enter(breaker, 1);
  expect(breaker.mayStart(0)).toBe(false);
  breaker.succeeded();
  expect(breaker.mayStart(0)).toBe(true);
});

test('consecutive failures make it failing: one probe at a time, with pauses that double up to the maximum', () => {
  const breaker = new CircuitBreaker(rules);
  enter(breaker, 3);
  expect(breaker.failed(0, almostOne)).toBe(false);
  expect(breaker.failing).toBe(false);
  expect(breaker.failed(0, almostOne)).toBe(true);
  // The request was in flight when the destination began to fail, so it is no probe.
  breaker.failed(0, almostOne);
  expect(breaker.notBeforeMs).toBe(100);
  const pauses: number[] = [];
  for (let i = 0; i < 4; i++) {
    const now = breaker.notBeforeMs;
    expect(breaker.mayStart(now - 1)).toBe(false);
    expect(breaker.mayStart(now)).toBe(true);
    breaker.enter();
    expect(breaker.mayStart(now)).toBe(false);
    expect(breaker.failed(now, almostOne)).toBe(false);
    pauses.push(breaker.notBeforeMs - now);
  }
  expect(pauses).toEqual([200, 400, 800, 1000]);
});

test('one success makes it healthy at once, and returns true', () => {
  const breaker = new CircuitBreaker(rules);
  enter(breaker, 3);
  breaker.failed(0, almostOne);
  breaker.failed(0, almostOne);
  expect(breaker.succeeded()).toBe(true);
  expect([breaker.failing, breaker.mayStart(0)]).toEqual([false, true]);
  breaker.enter();
  expect(breaker.succeeded()).toBe(false);
});

test('successes between failures keep it healthy', () => {
  const breaker = new CircuitBreaker(rules);
  for (let i = 0; i < 10; i++) {
    enter(breaker, 2);
    breaker.failed(0, 0);
    breaker.succeeded();
  }
  expect(breaker.failing).toBe(false);
});

test('a Retry-After blocks it for that time, failing or not', () => {
  const breaker = new CircuitBreaker(rules);
  breaker.enter();
  breaker.failed(1000, 0, 5000);
  expect([breaker.failing, breaker.notBeforeMs]).toEqual([false, 6000]);
});
