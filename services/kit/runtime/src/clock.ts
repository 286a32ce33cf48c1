import { setTimeout as sleep } from 'node:timers/promises';

/** Wall clock and monotonic clock, as a parameter, so that tests can set them. */
export interface Clock {
  /** Milliseconds since 1970. */
  now(): number;
  /**
   * Milliseconds since an arbitrary moment, never set back or forward: for durations and leases. A clock
   * without this method is assumed never to step.
   */
  monotonicNow?(): number;
}

/** A started timer. */
export interface Timer {
  /** Lets the process end although the timer waits. */
  unref(): unknown;
}

/**
 * Both clocks and the timers. Code that measures a duration or waits takes this port, so that tests decide
 * when time passes (`testing/fake-time.ts`). The methods are those of Node.js with the same names.
 */
export interface Time extends Clock {
  monotonicNow(): number;
  /** Calls `callback` once, after `ms`. */
  setTimeout(callback: () => void, ms: number): Timer;
  /** Calls `callback` every `ms`. */
  setInterval(callback: () => void, ms: number): Timer;
  /** Cancels a timer of either kind; does nothing after it ended, or without one. */
  clearTimer(timer: Timer | undefined): void;
  /**
   * Resolves after `ms`; rejects with an `AbortError` when `signal` aborts. With `ref: false` the process may
   * end meanwhile.
   */
  sleep(ms: number, options?: { readonly signal?: AbortSignal; readonly ref?: boolean }): Promise<void>;
}

/** The machine's clocks and timers. */
export const systemTime: Time = {
  now: () => Date.now(),
  monotonicNow: () => performance.now(),
  setTimeout: (callback, ms) => setTimeout(callback, ms),
  setInterval: (callback, ms) => setInterval(callback, ms),
  clearTimer: (timer) => clearTimeout(timer as NodeJS.Timeout | undefined),
  sleep: (ms, options) => sleep(ms, undefined, options),
};

/** The machine's clocks. */
export const systemClock: Clock = systemTime;

/** Milliseconds of the monotonic clock, or of the wall clock if there is no monotonic clock. */
export function monotonicMs(clock: Clock): number {
  return clock.monotonicNow?.() ?? clock.now();
}
