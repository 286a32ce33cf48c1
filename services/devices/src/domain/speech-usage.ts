import { type Implausible, plausibleTime } from '@headset-cloud/runtime/outside-time.ts';

/** Speech recognition to be charged; milliseconds. */
export interface SpeechUsed {
  readonly startedAtMs: number;
  readonly durationMs: number;
  /** The start that the headset reported; set only if `startedAtMs` is a replacement. */
  readonly reportedStartedAtMs?: number;
}

/** Maximum duration in one report. A longer duration is an error of the client and must not be charged. */
const maxDurationMs = 24 * 60 * 60 * 1000;

/**
 * Reads a headset's report of speech recognition; undefined if its duration is impossible. An absent or implausible
 * start is replaced by the latest possible start (rule A24). A start is implausible if it is before the activation, or
 * if the use would end after the arrival of the report. A replaced start is never before the activation.
 */
export function speechUsed(
  { startedAtMs, durationMs }: { readonly startedAtMs: number; readonly durationMs: number },
  {
    receivedAtMs,
    activatedAtMs,
  }: { readonly receivedAtMs: number; readonly activatedAtMs?: number | undefined },
  onReplaced: (why: Implausible) => void,
): SpeechUsed | undefined {
  if (durationMs <= 0 || durationMs > maxDurationMs) return undefined;
  const latestMs = Math.max(receivedAtMs - durationMs, activatedAtMs ?? 0);
  const times = { notBeforeMs: activatedAtMs, arrivedAtMs: latestMs };
  const atMs = plausibleTime(startedAtMs, times, onReplaced);
  if (atMs === startedAtMs) return { startedAtMs, durationMs };
  const { MIN_SAFE_INTEGER, MAX_SAFE_INTEGER } = Number;
  const reportedStartedAtMs = Math.max(Math.min(startedAtMs, MAX_SAFE_INTEGER), MIN_SAFE_INTEGER);
  return { startedAtMs: atMs, durationMs, reportedStartedAtMs };
}
