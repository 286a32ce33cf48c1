/** Speech recognition to be charged; milliseconds. */
export interface SpeechUsed {
  readonly startedAtMs: number;
  readonly durationMs: number;
  /** The start as the headset told it, where `startedAtMs` replaces it. */
  readonly reportedStartedAtMs?: number;
}

/** Longest use in one report; a longer one is a defect of the client and must not be charged. */
const longestMs = 24 * 60 * 60 * 1000;

/**
 * Reads a headset's report of speech recognition; undefined if its values are impossible. A time after the
 * arrival is replaced by the arrival, because the use ended before it was reported.
 */
export function speechUsed(
  startedAtMs: number,
  durationMs: number,
  receivedAtMs: number,
): SpeechUsed | undefined {
  if (startedAtMs <= 0 || durationMs <= 0 || durationMs > longestMs) return undefined;
  const latestMs = receivedAtMs - durationMs;
  if (startedAtMs <= latestMs) return { startedAtMs, durationMs };
  const reportedStartedAtMs = Math.min(startedAtMs, Number.MAX_SAFE_INTEGER);
  return { startedAtMs: latestMs, durationMs, reportedStartedAtMs };
}
