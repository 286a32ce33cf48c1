import { jest } from '@jest/globals';
import { Backoff } from './backoff.ts';

/** Returns the waits after each of `ends` session ends. */
function waits(backoff: Backoff, ends: number, between: () => void = () => {}): number[] {
  return Array.from({ length: ends }, () => {
    between();
    return backoff.ended();
  });
}

describe('the back-off', () => {
  const bounds = { firstMs: 500, maxMs: 60_000 };
  beforeEach(() => {
    jest.spyOn(Math, 'random').mockReturnValue(1);
  });
  afterEach(() => {
    jest.restoreAllMocks();
  });

  it('doubles with each end, up to the maximum', () => {
    expect(waits(new Backoff(bounds), 9)).toEqual([
      ...[500, 1000, 2000, 4000, 8000, 16_000, 32_000],
      ...[60_000, 60_000],
    ]);
  });

  it('doubles over sessions that end soon after their welcome', () => {
    const backoff = new Backoff(bounds);
    expect(waits(backoff, 3, () => backoff.welcomed())).toEqual([500, 1000, 2000]);
  });

  it('restarts at the first wait after an acknowledged report', () => {
    const backoff = new Backoff(bounds);
    waits(backoff, 3);
    backoff.reset();
    expect(backoff.ended()).toBe(500);
  });

  it('restarts at the first wait after a session of a minute, but not after a shorter session', () => {
    let now = 0;
    jest.spyOn(performance, 'now').mockImplementation(() => now);
    const backoff = new Backoff(bounds);
    const after = (ms: number) => {
      backoff.welcomed();
      now += ms;
      return backoff.ended();
    };
    expect([after(59_999), after(59_999), after(60_000), after(1)]).toEqual([500, 1000, 500, 1000]);
  });

  it('is not shorter than the requested minimum', () => {
    const backoff = new Backoff(bounds);
    backoff.raiseMinimum(10_000);
    backoff.raiseMinimum(5000);
    expect(backoff.wait(1)).toBeGreaterThan(9000);
    backoff.replaceMinimum(0);
    expect(backoff.wait(1)).toBe(1);
  });
});
