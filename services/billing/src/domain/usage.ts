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
   * The start as the source reported it. Set only if the publisher replaced a wrong start. Then `startedAtMs` depends
   * on the time at which the report arrived.
   */
  readonly reportedStartedAtMs?: number;
}

const dayMs = 86_400_000;
/** Maximum duration of one usage. It is longer than any real use. Without it, a wrong clock could add usage to many bills. */
export const longestUsageMs = 366 * dayMs;
/** Start of the year 9999. */
const latestStartMs = 253_370_764_800_000;

/** Checks usage. Throws `invalid_argument`; the message states the rule. */
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
 * True if a repeat has the same content. The starts are equal if the published starts or the reported starts are equal:
 * release 0.1.0 stored only the published start, and a repeat may have another published start.
 */
export function sameUsage(a: Usage, b: Usage): boolean {
  return (
    a.usageId === b.usageId &&
    a.applicationId === b.applicationId &&
    a.deviceId === b.deviceId &&
    a.kind === b.kind &&
    (a.startedAtMs === b.startedAtMs || reportedStart(a) === reportedStart(b)) &&
    a.durationMs === b.durationMs
  );
}

function reportedStart({ reportedStartedAtMs, startedAtMs }: Usage): number {
  return reportedStartedAtMs ?? startedAtMs;
}

/**
 * Milliseconds of a usage that are in a month. Usage that crosses the end of a month is divided between both months.
 */
export function usedWithin(
  { startedAtMs, durationMs }: Pick<Usage, 'startedAtMs' | 'durationMs'>,
  { fromMs, toMs }: Span,
): number {
  return Math.max(0, Math.min(startedAtMs + durationMs, toMs) - Math.max(startedAtMs, fromMs));
}
