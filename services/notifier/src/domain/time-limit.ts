import type { Delivery } from './delivery.ts';

/** How long a callback is retried (rule B10). */
export interface TimeLimit {
  /** Minimum time of retries since the cloud received its event; milliseconds. */
  readonly maxAgeMs: number;
  /** Additional time for a callback with fewer than `minAttempts` attempts; milliseconds. This is the final limit. */
  readonly graceMs: number;
  readonly minAttempts: number;
}

/** Rule B10: a callback is not given up before this number of attempts, or before the end of the grace period. */
export const minAttempts = 10;

/**
 * A probe of a failing destination. It counts as an attempt of every delivery that waits for the destination (rule
 * B10).
 */
export interface Probe {
  readonly atMs: number;
  /** The delivery that was sent. */
  readonly id: string;
}

/**
 * Number of remembered probes per destination. A delivery with fewer than `minAttempts` attempts has made fewer than
 * `minAttempts` of these probes. So at least `minAttempts` probes of a full list were made with other deliveries and
 * count for it.
 */
export const keptProbes = 2 * minAttempts;

/** Number of probes that count as attempts of a delivery in addition to its own attempts. */
export function probesFor(recent: readonly Probe[], delivery: Pick<Delivery, 'id' | 'budgetFromMs'>): number {
  return recent.filter(({ atMs, id }) => atMs >= delivery.budgetFromMs && id !== delivery.id).length;
}

type Budget = Pick<Delivery, 'budgetFromMs' | 'attempts'>;

/** Time from which a delivery with enough attempts may end without success; milliseconds since 1970. */
export function agedAtMs(delivery: Budget, limit: TimeLimit): number {
  return delivery.budgetFromMs + limit.maxAgeMs;
}

/** Time from which nothing is sent any more; milliseconds since 1970. */
export function endsAtMs(delivery: Budget, limit: TimeLimit): number {
  return agedAtMs(delivery, limit) + limit.graceMs;
}

/**
 * True if the delivery's time and attempts are used up. `probes` is the number of probes with other deliveries that
 * count as its attempts.
 */
export function isOver(delivery: Budget, probes: number, nowMs: number, limit: TimeLimit): boolean {
  if (nowMs >= endsAtMs(delivery, limit)) return true;
  return nowMs >= agedAtMs(delivery, limit) && delivery.attempts + probes >= limit.minAttempts;
}

/**
 * State of a delivery that waits because its destination accepts nothing. over: the delivery is given up. too few
 * attempts: its time is over, and it waits only for the minimum number of attempts. `recent` are the newest probes of
 * the destination. Without an address nothing can be tried, so only the delivery's age decides (rule B10).
 */
export function waitState(
  delivery: Budget & Pick<Delivery, 'id'>,
  recent: readonly Probe[] | 'no address',
  nowMs: number,
  limit: TimeLimit,
): 'waits' | 'too few attempts' | 'over' {
  if (nowMs < agedAtMs(delivery, limit)) return 'waits';
  if (recent === 'no address') return 'over';
  return isOver(delivery, probesFor(recent, delivery), nowMs, limit) ? 'over' : 'too few attempts';
}
