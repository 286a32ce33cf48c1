import { endsAtMs, isOver, keptProbes, minAttempts, type Probe, probesFor, waitState } from './time-limit.ts';

const hourMs = 3_600_000;
const limit = { maxAgeMs: 72 * hourMs, graceMs: 24 * hourMs, minAttempts };
const taken = { id: 'n-1', budgetFromMs: 1000, attempts: 10 };
const at = (hours: number) => taken.budgetFromMs + hours * hourMs;

test('the limit is 72 hours after receipt, with ten attempts', () => {
  expect(isOver(taken, 0, at(72) - 1, limit)).toBe(false);
  expect(isOver(taken, 0, at(72), limit)).toBe(true);
  expect(isOver({ ...taken, attempts: 9 }, 0, at(72), limit)).toBe(false);
  expect(isOver({ ...taken, attempts: 0 }, 0, at(95.9), limit)).toBe(false);
});

test('probes with other deliveries count as its attempts', () => {
  expect(isOver({ ...taken, attempts: 1 }, 8, at(72), limit)).toBe(false);
  expect(isOver({ ...taken, attempts: 1 }, 9, at(72), limit)).toBe(true);
});

test('the limit is 96 hours after receipt, whatever the number of attempts', () => {
  expect(isOver({ ...taken, attempts: 0 }, 0, at(96) - 1, limit)).toBe(false);
  expect(isOver({ ...taken, attempts: 0 }, 0, at(96), limit)).toBe(true);
  expect(endsAtMs(taken, limit)).toBe(at(96));
});

test('probes since its receipt count; probes with the delivery itself count as its attempts', () => {
  const probes: Probe[] = [
    { atMs: 999, id: 'n-0' },
    { atMs: 1000, id: 'n-2' },
    { atMs: 1001, id: 'n-1' },
    { atMs: 1002, id: 'n-2' },
  ];
  expect(probesFor(probes, taken)).toBe(2);
});

test('enough probes are remembered, even if most of them were made with the delivery itself', () => {
  const own = minAttempts - 1;
  const recent = Array.from({ length: keptProbes }, (_, i) => {
    return { atMs: 2000 + i, id: i < own ? taken.id : `other-${i}` };
  });
  expect(own + probesFor(recent, taken)).toBeGreaterThanOrEqual(minAttempts);
});

describe('while its destination accepts nothing', () => {
  const waiting = { ...taken, attempts: 3 };
  const probes = (count: number): Probe[] =>
    Array.from({ length: count }, (_, i) => ({ atMs: 2000 + i, id: `other-${i}` }));

  test.each([[probes(0)], [probes(100)], ['no address' as const]])(
    'it waits until the time limit',
    (recent) => {
      expect(waitState(waiting, recent, at(72) - 1, limit)).toBe('waits');
    },
  );

  test('after that it needs enough attempts or probes, up to the end of the grace period', () => {
    expect(waitState(waiting, probes(6), at(72), limit)).toBe('too few attempts');
    expect(waitState(waiting, probes(7), at(72), limit)).toBe('over');
    expect(waitState(waiting, probes(0), at(96) - 1, limit)).toBe('too few attempts');
    expect(waitState(waiting, probes(0), at(96), limit)).toBe('over');
  });

  test('probes with the delivery itself are already attempts, and earlier probes count for others only', () => {
    const own = probes(7).map((probe) => ({ ...probe, id: waiting.id }));
    const before = probes(7).map((probe) => ({ ...probe, atMs: waiting.budgetFromMs - 1 }));
    for (const recent of [own, before]) {
      expect(waitState(waiting, recent, at(72), limit)).toBe('too few attempts');
    }
  });

  test('without an address no attempts are needed', () => {
    expect(waitState({ ...waiting, attempts: 0 }, 'no address', at(72), limit)).toBe('over');
  });

  test('after the clock is set back it waits again', () => {
    expect(waitState(taken, probes(100), at(71), limit)).toBe('waits');
  });
});
