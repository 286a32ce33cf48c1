/** Why a time from outside is not used: before it was possible, or after it arrived. */
export type Implausible = 'past' | 'future';

/** When a time from outside is plausible; milliseconds since 1970. */
export interface PlausibleTimes {
  /** The event cannot have happened earlier; absent: not known. */
  readonly notBeforeMs?: number | undefined;
  /** The cloud's clock when the time arrived: the event cannot have happened later. */
  readonly arrivedAtMs: number;
}

/**
 * Returns why a time from outside is not plausible, undefined if it is (rule A24). The clock outside may be years
 * behind or ahead.
 */
export function implausible(
  atMs: number,
  { notBeforeMs = 1, arrivedAtMs }: PlausibleTimes,
): Implausible | undefined {
  if (atMs > arrivedAtMs) return 'future';
  return atMs < notBeforeMs ? 'past' : undefined;
}

/**
 * Returns a time from outside, or the arrival if that time is absent (0) or not plausible (rule A24).
 * `onReplaced` is called for a time that was given and is not used.
 */
export function plausibleTime(
  atMs: number,
  times: PlausibleTimes,
  onReplaced?: (why: Implausible) => void,
): number {
  if (atMs === 0) return times.arrivedAtMs;
  const why = implausible(atMs, times);
  if (why === undefined) return atMs;
  onReplaced?.(why);
  return times.arrivedAtMs;
}
