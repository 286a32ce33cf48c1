import type { Delivery } from './delivery.ts';

/** Time until the next check of a predecessor that another instance works on; milliseconds. */
const busyPredecessorMs = 300;
const maxBlockedMs = 30_000;

/**
 * How long a delivery may still wait for earlier ones; milliseconds, 0 or less: no wait. A report waits for first
 * attempts only until its maximum wait is over (rule A20), a callback of a transaction without a limit (rule B10).
 * `orderWaitUntilMs` and `monotonicMs` are times of the monotonic clock.
 */
export function remainingWaitMs(
  { order }: Pick<Delivery, 'order'>,
  orderWaitUntilMs: number,
  monotonicMs: number,
): number {
  if (order === 'none') return 0;
  return order === 'tried' ? orderWaitUntilMs - monotonicMs : Number.POSITIVE_INFINITY;
}

/**
 * Time of the next check whether this predecessor is finished, by the wall clock: its planned time, or soon if an
 * instance works on it; at most 30 s ahead, and not after the maximum wait.
 */
export function nextCheckAtMs(
  { owner, dueAtMs }: Pick<Delivery, 'owner' | 'dueAtMs'>,
  nowMs: number,
  remainingWaitMs: number,
): number {
  const plannedMs = owner === null ? dueAtMs : 0;
  return Math.min(
    Math.max(plannedMs, nowMs + busyPredecessorMs),
    nowMs + maxBlockedMs,
    nowMs + remainingWaitMs,
  );
}
