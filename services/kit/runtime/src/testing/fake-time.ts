import { createClock } from '@sinonjs/fake-timers';
import type { Time, Timer } from '../clock.ts';

/** Time that passes only when a test advances it. */
export interface FakeTime extends Time {
  /**
   * Advances both clocks by `ms` and runs the timers that become due, in their order. Pending promises and I/O
   * callbacks run before each timer and at the end.
   */
  advance(ms: number): Promise<void>;
  /** Steps the wall clock, as an administrator or NTP does; the monotonic clock and the timers stay. */
  stepWallClock(ms: number): void;
  /** Number of timers that wait. Wait for a timer to exist (`waitFor`) before advancing to it. */
  readonly timers: number;
}

/** Starts at `startMs`, milliseconds since 1970 (default 2026-01-01). */
export function createFakeTime(startMs = Date.UTC(2026, 0, 1)): FakeTime {
  const clock = createClock(startMs);
  let monotonicMs = 0;
  let steppedMs = 0;
  const monotonicNow = () => clock.now - startMs - steppedMs + monotonicMs;
  const setTimer = (kind: 'setTimeout' | 'setInterval') => (callback: () => void, ms: number) =>
    // In Node.js a timer is an object; the types also describe browsers.
    clock[kind](callback, ms) as unknown as Timer;
  return {
    now: () => clock.now,
    monotonicNow,
    setTimeout: setTimer('setTimeout'),
    setInterval: setTimer('setInterval'),
    clearTimer(timer) {
      if (timer !== undefined) clock.clearTimeout(timer as unknown as ReturnType<typeof clock.setTimeout>);
    },
    sleep(ms, { signal } = {}) {
      if (signal?.aborted) return Promise.reject(abortError(signal));
      return new Promise((resolve, reject) => {
        const end = () => {
          clock.clearTimeout(timer);
          reject(abortError(signal));
        };
        const timer = clock.setTimeout(() => {
          signal?.removeEventListener('abort', end);
          resolve();
        }, ms);
        signal?.addEventListener('abort', end, { once: true });
      });
    },
    async advance(ms) {
      await clock.tickAsync(ms);
    },
    stepWallClock(ms) {
      monotonicMs = monotonicNow();
      clock.setSystemTime(clock.now + ms);
      steppedMs = clock.now - startMs;
    },
    get timers() {
      return clock.countTimers();
    },
  };
}

function abortError(signal: AbortSignal | undefined): Error {
  return new DOMException('The operation was aborted', { name: 'AbortError', cause: signal?.reason });
}
