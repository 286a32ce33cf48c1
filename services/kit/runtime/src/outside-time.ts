/** Why an external time is not used: it is before the event was possible, or after the time arrived. */
export type Implausible = 'past' | 'future';

/** The range of plausible times; milliseconds since 1970. */
export interface PlausibleTimes {
  /** The event cannot have happened earlier; absent: not known. */
  readonly notBeforeMs?: number | undefined;
  /** The cloud's clock when the time arrived: the event cannot have happened later. */
  readonly arrivedAtMs: number;
}

/**
 * Returns why an external time is not plausible; undefined if it is plausible (rule A24). An external clock may be
 * wrong by years.
 */
export function implausible(
  atMs: number,
  { notBeforeMs = 1, arrivedAtMs }: PlausibleTimes,
): Implausible | undefined {
  if (atMs > arrivedAtMs) return 'future';
  return atMs < notBeforeMs ? 'past' : undefined;
}

/**
 * Returns an external time, or its arrival time if the external time is absent (0) or not plausible (rule A24).
 * `onReplaced` is called for a time that is present but not plausible.
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
