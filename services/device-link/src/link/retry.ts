import { type BackoffBounds, backoffMs } from '@headset-cloud/runtime/backoff.ts';
import { systemTime, type Time } from '@headset-cloud/runtime/clock.ts';

/** Bounds of the waits between calls of other services that are repeated until they succeed. */
export const callBackoff: BackoffBounds = { firstMs: 200, maxMs: 10_000 };

/** Resolves after `ms`; holds no process open. */
export function pause(ms: number, time: Time = systemTime): Promise<void> {
  return time.sleep(ms, { ref: false });
}

/**
 * Tries `work` until it succeeds or nobody needs it any more (`wanted` answers false): then it
 * answers undefined. Every failure is tried again; `onFailure` hears of it.
 */
export async function retryWhile<T>(
  wanted: () => boolean,
  work: () => Promise<T>,
  onFailure: (error: unknown, attempt: number) => void,
): Promise<T | undefined> {
  for (let attempt = 1; wanted(); attempt += 1) {
    try {
      return await work();
    } catch (error) {
      onFailure(error, attempt);
    }
    if (!wanted()) break;
    await pause(backoffMs(attempt, callBackoff));
  }
  return undefined;
}
