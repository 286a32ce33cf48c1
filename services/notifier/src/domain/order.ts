import type { Delivery } from './delivery.ts';

/** How soon to look again at a predecessor that another instance works on. */
const busyPredecessorMs = 300;
const maxBlockedMs = 30_000;

/**
 * For how long a delivery may still wait for earlier ones, in milliseconds; 0 or less: not at all. A
 * report waits for first attempts only as long as its patience (rule A20), one of a transaction without
 * a limit (rule B10). `monotonicMs` is of the monotonic clock, as `patientUntilMs` is.
 */
export function patienceMs(
  { order }: Pick<Delivery, 'order'>,
  patientUntilMs: number,
  monotonicMs: number,
): number {
  if (order === 'none') return 0;
  return order === 'tried' ? patientUntilMs - monotonicMs : Number.POSITIVE_INFINITY;
}

/**
 * When to look again whether this predecessor is finished, by the wall clock: at the time for which it is
 * planned, soon where an instance works on it; at most 30 s ahead, and never past the patience.
 */
export function lookAgainAtMs(
  { owner, dueAtMs }: Pick<Delivery, 'owner' | 'dueAtMs'>,
  nowMs: number,
  patienceMs: number,
): number {
  const plannedMs = owner === null ? dueAtMs : 0;
  return Math.min(Math.max(plannedMs, nowMs + busyPredecessorMs), nowMs + maxBlockedMs, nowMs + patienceMs);
}
