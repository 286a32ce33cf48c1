import type { Package, Reading, Recording, SaidReport, SoraEvent, SpentUsage, Upload } from '../evidence.ts';
import type { Random } from '../random.ts';

/** The platform's default of BILLING_TIME_ZONE is UTC+9. */
const zoneMs = 9 * 3_600_000;
const longestMs = 30 * 60_000;
/** A connection cannot begin long before its channel was made (rule A24). */
const longestMeetingMs = 50_000;
/** Random durations are multiples of it, so that a unique number can be added. */
const grainMs = 10_000;

/** What headsets, Sora and developers were told to report and to do, and the usage. */
export class Said {
  readonly reports: SaidReport[] = [];
  readonly uploads: Upload[] = [];
  readonly spent: SpentUsage[] = [];
  readonly soraEvents: SoraEvent[] = [];
  readonly recordings: Recording[] = [];
  readonly packages: Package[] = [];
  readonly readings: Reading[] = [];
  /** The month of all usage and of the bill. A run over the end of a month is judged wrongly: run it again. */
  readonly month: { readonly year: number; readonly month: number };
  #uses = 0;
  #numbers = 0;

  constructor(nowMs: number) {
    const there = new Date(nowMs + zoneMs);
    this.month = { year: there.getUTCFullYear(), month: there.getUTCMonth() + 1 };
  }

  /** A number that no other report has. */
  nextNumber(): number {
    this.#numbers += 1;
    return this.#numbers;
  }

  /** A duration of speech recognition that no other use has; milliseconds. */
  duration(r: Random): number {
    return this.#duration(r, longestMs);
  }

  /** A duration of a meeting that no other use has; milliseconds. */
  meetingDuration(r: Random): number {
    return this.#duration(r, longestMeetingMs);
  }

  #duration(r: Random, mostMs: number): number {
    this.#uses += 1;
    return r.between(1, mostMs / grainMs - 1) * grainMs + (this.#uses % grainMs);
  }
}
