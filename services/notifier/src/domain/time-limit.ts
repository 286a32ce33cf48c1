import type { Delivery } from './delivery.ts';

/** For how long a callback is tried (rule B10). */
export interface TimeLimit {
  /** It is tried at least for so long, from when the cloud took its event in. */
  readonly maxAgeMs: number;
  /** It is tried for so much longer while it had fewer than `minAttempts`; not a moment longer. */
  readonly graceMs: number;
  readonly minAttempts: number;
}

/** Rule B10: a callback is not given up before it had so many attempts, or its grace is over. */
export const minAttempts = 10;

/** A probe of a failing destination: an attempt of every delivery that waits behind it (rule B10). */
export interface Probe {
  readonly atMs: number;
  /** The delivery that was sent. */
  readonly id: string;
}

/**
 * Probes that are remembered of a destination. Fewer than `minAttempts` of them are a delivery's own
 * when its own attempts do not suffice, so what is left always holds the probes of others that matter.
 */
export const keptProbes = 2 * minAttempts;

/** The probes that count as attempts of a delivery beside its own attempts. */
export function probesFor(recent: readonly Probe[], delivery: Pick<Delivery, 'id' | 'budgetFromMs'>): number {
  return recent.filter(({ atMs, id }) => atMs >= delivery.budgetFromMs && id !== delivery.id).length;
}

type Budget = Pick<Delivery, 'budgetFromMs' | 'attempts'>;

/** From here on it may end for want of success; milliseconds since 1970. */
export function agedAtMs(delivery: Budget, limit: TimeLimit): number {
  return delivery.budgetFromMs + limit.maxAgeMs;
}

/** From here on nothing is sent any more; milliseconds since 1970. */
export function endsAtMs(delivery: Budget, limit: TimeLimit): number {
  return agedAtMs(delivery, limit) + limit.graceMs;
}

/** True when it has had its time and its attempts; `probes` are those of others that count for it. */
export function isOver(delivery: Budget, probes: number, nowMs: number, limit: TimeLimit): boolean {
  if (nowMs >= endsAtMs(delivery, limit)) return true;
  return nowMs >= agedAtMs(delivery, limit) && delivery.attempts + probes >= limit.minAttempts;
}

/**
 * Whether a delivery is given up while its destination takes nothing; `recent` are the newest probes of
 * the destination. Without an address nothing could be tried: its age alone decides (rule B10). 'too few
 * attempts': only these keep it.
 */
export function whileNotTaken(
  delivery: Budget & Pick<Delivery, 'id'>,
  recent: readonly Probe[] | 'no address',
  nowMs: number,
  limit: TimeLimit,
): 'waits' | 'too few attempts' | 'over' {
  if (nowMs < agedAtMs(delivery, limit)) return 'waits';
  if (recent === 'no address') return 'over';
  return isOver(delivery, probesFor(recent, delivery), nowMs, limit) ? 'over' : 'too few attempts';
}
