import { type Implausible, plausibleTime } from '@headset-cloud/runtime/outside-time.ts';

/** Speech recognition to be charged; milliseconds. */
export interface SpeechUsed {
  readonly startedAtMs: number;
  readonly durationMs: number;
  /** The start as the headset reported it, set if `startedAtMs` replaces it. */
  readonly reportedStartedAtMs?: number;
}

/** Longest use in one report. A longer use is a defect of the client and must not be charged. */
const longestMs = 24 * 60 * 60 * 1000;

/**
 * Reads a headset's report of speech recognition; undefined if its duration is impossible. A start that is absent,
 * before the activation, or too late to end before the arrival is replaced by the latest possible start, because the
 * use ended before it was reported (rule A24). No use is charged before the activation.
 */
export function speechUsed(
  { startedAtMs, durationMs }: { readonly startedAtMs: number; readonly durationMs: number },
  {
    receivedAtMs,
    activatedAtMs,
  }: { readonly receivedAtMs: number; readonly activatedAtMs?: number | undefined },
  onReplaced: (why: Implausible) => void,
): SpeechUsed | undefined {
  if (durationMs <= 0 || durationMs > longestMs) return undefined;
  const latestMs = Math.max(receivedAtMs - durationMs, activatedAtMs ?? 0);
  const times = { notBeforeMs: activatedAtMs, arrivedAtMs: latestMs };
  const atMs = plausibleTime(startedAtMs, times, onReplaced);
  if (atMs === startedAtMs) return { startedAtMs, durationMs };
  const { MIN_SAFE_INTEGER, MAX_SAFE_INTEGER } = Number;
  const reportedStartedAtMs = Math.max(Math.min(startedAtMs, MAX_SAFE_INTEGER), MIN_SAFE_INTEGER);
  return { startedAtMs: atMs, durationMs, reportedStartedAtMs };
}
