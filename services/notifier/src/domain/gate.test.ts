import { Gate } from './gate.ts';

const rules = { maxInFlight: 3, failingAfter: 2, probeFirstMs: 100, probeMaxMs: 1000 };
const almostOne = 1 - Number.EPSILON;

function enter(gate: Gate, count: number): void {
  for (let i = 0; i < count; i++) gate.enter();
}

test('a healthy destination gets callbacks up to the cap', () => {
  const gate = new Gate(rules);
  enter(gate, 2);
  expect(gate.mayStart(0)).toBe(true);
  enter(gate, 1);
  expect(gate.mayStart(0)).toBe(false);
  gate.succeeded();
  expect(gate.mayStart(0)).toBe(true);
});

test('failures in a row make it failing: one probe at a time, with pauses that double to the maximum', () => {
  const gate = new Gate(rules);
  enter(gate, 3);
  expect(gate.failed(0, almostOne)).toBe(false);
  expect(gate.failing).toBe(false);
  expect(gate.failed(0, almostOne)).toBe(true);
  // Of those that were in flight together only the first and the last count as probes.
  gate.failed(0, almostOne);
  expect(gate.closedUntilMs).toBe(200);
  const pauses: number[] = [];
  for (let i = 0; i < 4; i++) {
    const now = gate.closedUntilMs;
    expect(gate.mayStart(now - 1)).toBe(false);
    expect(gate.mayStart(now)).toBe(true);
    gate.enter();
    expect(gate.mayStart(now)).toBe(false);
    expect(gate.failed(now, almostOne)).toBe(false);
    pauses.push(gate.closedUntilMs - now);
  }
  expect(pauses).toEqual([400, 800, 1000, 1000]);
});

test('one success makes it healthy at once, and says so', () => {
  const gate = new Gate(rules);
  enter(gate, 3);
  gate.failed(0, almostOne);
  gate.failed(0, almostOne);
  expect(gate.succeeded()).toBe(true);
  expect([gate.failing, gate.mayStart(0)]).toEqual([false, true]);
  gate.enter();
  expect(gate.succeeded()).toBe(false);
});

test('successes between failures keep it healthy', () => {
  const gate = new Gate(rules);
  for (let i = 0; i < 10; i++) {
    enter(gate, 2);
    gate.failed(0, 0);
    gate.succeeded();
  }
  expect(gate.failing).toBe(false);
});

test('a Retry-After closes it for that long, failing or not', () => {
  const gate = new Gate(rules);
  gate.enter();
  gate.failed(1000, 0, 5000);
  expect([gate.failing, gate.closedUntilMs]).toEqual([false, 6000]);
});
