import { AdaptiveLimit } from './adaptive-limit.ts';

/** A call of a client that is finished when the service has spent `costMs` on it. */
interface Work {
  readonly clientId: string;
  leftMs: number;
  readonly untilMs: number;
  readonly end: (late: boolean) => void;
}

/**
 * A service that finishes this many calls per second, working on all running calls at the same time. It gives up calls
 * that are not finished at the deadline. Callers that were rejected or too late retry after one second. Returns the
 * number of finished calls of each client, for each ten seconds.
 */
function simulate(options: {
  readonly seconds: number;
  readonly perSecond: (second: number) => number;
  /** Number of callers of each client. */
  readonly callers: Readonly<Record<string, number>>;
  readonly limit: AdaptiveLimit | undefined;
}): Record<string, number>[] {
  const { seconds, perSecond, callers, limit } = options;
  const deadlineMs = 5000;
  const stepMs = 10;
  const done: Record<string, number>[] = [];
  const waiting = Object.entries(callers).flatMap(([clientId, n]) =>
    Array.from({ length: n }, (_, i) => ({ clientId, atMs: i % 1000 })),
  );
  let working: Work[] = [];
  for (let nowMs = 0; nowMs < seconds * 1000; nowMs += stepMs) {
    for (const caller of waiting.splice(0)) {
      const { clientId } = caller;
      const end = caller.atMs > nowMs ? undefined : limit ? limit.enter(clientId) : () => {};
      if (end) working.push({ clientId, leftMs: 1, untilMs: nowMs + deadlineMs, end });
      else waiting.push({ clientId, atMs: caller.atMs > nowMs ? caller.atMs : nowMs + 1000 });
    }
    const each = (perSecond(nowMs / 1000) * stepMs) / 1000 / Math.max(1, working.length);
    for (const one of working) one.leftMs -= each;
    working = working.filter(({ clientId, leftMs, untilMs, end }) => {
      if (leftMs > 0 && nowMs < untilMs) return true;
      end(leftMs > 0);
      const period = Math.floor(nowMs / 10_000);
      done[period] ??= {};
      if (leftMs <= 0) done[period][clientId] = (done[period][clientId] ?? 0) + 1;
      waiting.push({ clientId, atMs: leftMs > 0 ? nowMs + 1000 : nowMs });
      return false;
    });
  }
  return done;
}

const sum = (of: Record<string, number> | undefined) => Object.values(of ?? {}).reduce((a, b) => a + b, 0);

describe('more callers than can be answered before the deadline', () => {
  // 20 calls a second, so that 100 concurrent calls finish just in time.
  const overload = { seconds: 120, perSecond: () => 20, callers: { a: 100, b: 100 } };

  it('without a limit all calls are given up, again and again', () => {
    expect(
      simulate({ ...overload, limit: undefined })
        .slice(2)
        .map(sum),
    ).toEqual(Array(10).fill(0));
  });

  it('with the limit the service soon finishes most of its capacity, in each ten seconds', () => {
    const done = simulate({ ...overload, limit: new AdaptiveLimit() }).map(sum);
    for (const n of done.slice(2)) expect(n).toBeGreaterThan(200 * 0.5);
    expect(done.slice(2).reduce((a, b) => a + b, 0)).toBeGreaterThan(2000 * 0.7);
  });

  it('also with very little capacity, as on a node that is starting pods', () => {
    const done = simulate({ ...overload, perSecond: () => 3, limit: new AdaptiveLimit() }).map(sum);
    for (const n of done.slice(3)) expect(n).toBeGreaterThan(30 * 0.4);
    expect(done.slice(3).reduce((a, b) => a + b, 0)).toBeGreaterThan(9 * 30 * 0.6);
  });

  it('a client that calls a hundred times as often leaves another client its share', () => {
    const done = simulate({ ...overload, callers: { many: 1000, few: 10 }, limit: new AdaptiveLimit() });
    // Each of its calls takes at most the deadline, and ten callers make at least one call in five seconds.
    const few = done.slice(2).map((of) => of['few'] ?? 0);
    expect(few.reduce((a, b) => a + b, 0)).toBeGreaterThan(10 * 20 * 0.7);
  });
});

it('recovers soon after the service recovers', () => {
  const limit = new AdaptiveLimit();
  const slowUntil = 60;
  const perSecond = (second: number) => (second < slowUntil ? 5 : 200);
  const done = simulate({ seconds: 120, perSecond, callers: { a: 200, b: 200 }, limit });
  // 400 callers, each answered within 2 s.
  expect(sum(done[7])).toBeGreaterThan(2000 * 0.8);
  expect(sum(done[11])).toBeGreaterThan(2000 * 0.95);
});

it('a service that answers nothing still gets a few calls', () => {
  const limit = new AdaptiveLimit();
  simulate({ seconds: 120, perSecond: () => 0, callers: { a: 300 }, limit });
  expect(limit.limit).toBeGreaterThanOrEqual(4);
  expect(limit.limit).toBeLessThan(8);
});

/** Starts as many of `n` calls of a client as are admitted. */
const begin = (limit: AdaptiveLimit, n: number, clientId = 'a') =>
  Array.from({ length: n }, () => limit.enter(clientId)).filter((end) => end !== undefined);

it('late answers to few calls do not lower the limit', () => {
  const limit = new AdaptiveLimit();
  for (let i = 0; i < 100; i++) for (const end of begin(limit, 7)) end(true);
  expect(begin(limit, 1000)).toHaveLength(1000);
});

it('does not rise while it is not in use', () => {
  const limit = new AdaptiveLimit();
  for (const end of begin(limit, 64)) end(true);
  expect(limit.limit).toBe(32);
  for (let i = 0; i < 1000; i++) for (const end of begin(limit, 10)) end(false);
  expect(limit.limit).toBe(32);
  for (let i = 0; i < 10; i++) for (const end of begin(limit, 40)) end(false);
  expect(limit.limit).toBeGreaterThan(32 + 10);
});

it('many clients with one call each exceed it at most by a factor of two', () => {
  const limit = new AdaptiveLimit();
  for (const end of begin(limit, 8)) end(true);
  expect(limit.limit).toBe(4);
  const admitted = Array.from({ length: 100 }, (_, i) => begin(limit, 1, `client ${i}`)).flat();
  expect(admitted).toHaveLength(8);
});
