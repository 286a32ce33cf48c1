import { type BackoffBounds, backoffMs } from '@headset-cloud/runtime/backoff.ts';
import { systemTime } from '@headset-cloud/runtime/clock.ts';

/** Bounds of the pauses between repeated calls to other services. */
export const callBackoff: BackoffBounds = { firstMs: 200, maxMs: 10_000 };

/**
 * Repeats `work` until it succeeds, and returns its result. Returns undefined as soon as `wanted` returns false.
 * Every error is passed to `onFailure` and retried, with a backoff.
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
    await systemTime.sleep(backoffMs(attempt, callBackoff), { ref: false });
  }
  return undefined;
}
