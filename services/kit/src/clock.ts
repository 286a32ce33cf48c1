/** Time as the domain sees it: passed in, never read from globals, so that tests decide it. */
export interface Clock {
  /** Milliseconds since 1970. */
  now(): number;
  /**
   * Milliseconds since an arbitrary moment, never set back or forward: for durations and leases. A clock
   * without this method is assumed never to step.
   */
  monotonicNow?(): number;
}

/** The machine's wall clock. */
export const systemClock: Clock = { now: () => Date.now(), monotonicNow: () => performance.now() };

/** Milliseconds of the monotonic clock, or of one that is assumed never to step. */
export function monotonicMs(clock: Clock): number {
  return clock.monotonicNow?.() ?? clock.now();
}
