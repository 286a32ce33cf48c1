import { DomainError } from '@headset-cloud/runtime/errors.ts';
import { requireApplicationId, requireDeviceId } from './ids.ts';
import type { Span } from './month.ts';

export const usageKinds = ['videoMeeting', 'speechRecognition'] as const;
export type UsageKind = (typeof usageKinds)[number];

/** One metered use of a service. Never changed once it is stored. */
export interface Usage {
  /** Unique on the platform; a repeat has the same id. */
  readonly usageId: string;
  readonly applicationId: string;
  /** Empty if not known. */
  readonly deviceId: string;
  readonly kind: UsageKind;
  /** Milliseconds since 1970. */
  readonly startedAtMs: number;
  readonly durationMs: number;
  /**
   * The start as the source reported it. Set if the publisher replaced a wrong start. `startedAtMs` then depends on
   * when the report arrived.
   */
  readonly reportedStartedAtMs?: number;
}

const dayMs = 86_400_000;
/** Longer than any real use. The limit keeps a wrong clock from adding usage to many bills. */
export const longestUsageMs = 366 * dayMs;
/** Start of the year 9999. */
const latestStartMs = 253_370_764_800_000;

/** Throws `invalid_argument` that says what is wrong. */
export function requireUsage(usage: Omit<Usage, 'kind'> & { readonly kind: UsageKind | undefined }): Usage {
  const { usageId, deviceId, kind, startedAtMs, durationMs } = usage;
  if (!/^[\x21-\x7e]{1,200}$/.test(usageId)) refuse('usage_id is not 1 to 200 printable ASCII characters.');
  requireApplicationId(usage.applicationId);
  if (deviceId !== '') requireDeviceId(deviceId);
  if (!kind) return refuse('kind is not one of video meeting, speech recognition.');
  if (!(Number.isSafeInteger(startedAtMs) && startedAtMs > 0 && startedAtMs < latestStartMs)) {
    refuse('started_at_ms is not a time since 1970 in milliseconds.');
  }
  if (!(Number.isSafeInteger(durationMs) && durationMs >= 0 && durationMs <= longestUsageMs)) {
    refuse('duration_ms is not a time from 0 to 366 days in milliseconds.');
  }
  if (!Number.isSafeInteger(usage.reportedStartedAtMs ?? 0)) {
    refuse('reported_started_at_ms is not a whole number of milliseconds.');
  }
  return { ...usage, kind };
}

function refuse(message: string): never {
  throw new DomainError('invalid_argument', message);
}

/**
 * Whether a repeat has the same content. The starts are compared as reported by the source and as published, because
 * 0.1.0 stored only the published start.
 */
export function sameUsage(a: Usage, b: Usage): boolean {
  return (
    a.usageId === b.usageId &&
    a.applicationId === b.applicationId &&
    a.deviceId === b.deviceId &&
    a.kind === b.kind &&
    (a.startedAtMs === b.startedAtMs || toldStart(a) === toldStart(b)) &&
    a.durationMs === b.durationMs
  );
}

function toldStart({ reportedStartedAtMs, startedAtMs }: Usage): number {
  return reportedStartedAtMs ?? startedAtMs;
}

/** The part of a usage that lies in a month; usage over a border is split there. Milliseconds. */
export function usedWithin(
  { startedAtMs, durationMs }: Pick<Usage, 'startedAtMs' | 'durationMs'>,
  { fromMs, toMs }: Span,
): number {
  return Math.max(0, Math.min(startedAtMs + durationMs, toMs) - Math.max(startedAtMs, fromMs));
}
