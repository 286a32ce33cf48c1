import { setTimeout as sleep } from 'node:timers/promises';

/** Wall clock and monotonic clock. Code takes them as a parameter, so that tests can set the time. */
export interface Clock {
  /** Milliseconds since 1970. */
  now(): number;
  /**
   * Milliseconds since an arbitrary moment, for durations and leases. This time is never set back or forward. Without
   * this method, the wall clock is used instead.
   */
  monotonicNow?(): number;
}

/** A started timer. */
export interface Timer {
  /** Lets the process end while the timer is pending. */
  unref(): unknown;
}

/**
 * Both clocks and the timers. Code that waits or measures a duration takes this port, so that tests control the time
 * (`testing/fake-time.ts`). The methods work like the functions of Node.js with the same names.
 */
export interface Time extends Clock {
  monotonicNow(): number;
  /** Calls `callback` once, after `ms`. */
  setTimeout(callback: () => void, ms: number): Timer;
  /** Calls `callback` every `ms`. */
  setInterval(callback: () => void, ms: number): Timer;
  /** Cancels a timer or an interval. Has no effect for undefined, or after the timer has fired. */
  clearTimer(timer: Timer | undefined): void;
  /**
   * Resolves after `ms`; rejects with an `AbortError` when `signal` aborts. With `ref: false`, the process may end
   * during the wait.
   */
  sleep(ms: number, options?: { readonly signal?: AbortSignal; readonly ref?: boolean }): Promise<void>;
}

/** Longest time of a timer in Node.js, 24.8 days; a longer one would fire after 1 ms. Milliseconds. */
const maxTimerMs = 2 ** 31 - 1;
const timerMs = (ms: number) => Math.min(ms, maxTimerMs);

/** The machine's clocks and timers. A timer of more than 24.8 days fires after 24.8 days. */
export const systemTime: Time = {
  now: () => Date.now(),
  monotonicNow: () => performance.now(),
  setTimeout: (callback, ms) => setTimeout(callback, timerMs(ms)),
  setInterval: (callback, ms) => setInterval(callback, timerMs(ms)),
  clearTimer: (timer) => clearTimeout(timer as NodeJS.Timeout | undefined),
  sleep: (ms, options) => sleep(timerMs(ms), undefined, options),
};

/** The machine's clocks. */
export const systemClock: Clock = systemTime;

/** Milliseconds of the monotonic clock, or of the wall clock if there is no monotonic clock. */
export function monotonicMs(clock: Clock): number {
  return clock.monotonicNow?.() ?? clock.now();
}
