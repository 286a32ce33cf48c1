import { systemTime, type Time } from '@headset-cloud/kit/clock.ts';

const firstDelayMs = 100;
const longestDelayMs = 10_000;

/** Waits before try `attempt` (1, 2, …): exponential with full jitter, 10 s at most. */
export function backoffMs(attempt: number, random: () => number = Math.random): number {
  return random() * Math.min(longestDelayMs, firstDelayMs * 2 ** Math.min(attempt, 10));
}

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
    await pause(backoffMs(attempt));
  }
  return undefined;
}
