import { type Clock, monotonicMs } from './clock.ts';

/**
 * Runs the work at most once in `everyMs` (by the monotonic clock), the first time at once. Failed work runs again
 * at the next call.
 */
export function rarely(clock: Clock, everyMs: number, work: () => Promise<void>): () => Promise<void> {
  let doneAtMs = Number.NEGATIVE_INFINITY;
  return async () => {
    const sinceMs = monotonicMs(clock) - doneAtMs;
    // Negative if a clock without monotonic time was set back.
    if (sinceMs >= 0 && sinceMs < everyMs) return;
    const beganAtMs = monotonicMs(clock);
    await work();
    doneAtMs = beganAtMs;
  };
}
