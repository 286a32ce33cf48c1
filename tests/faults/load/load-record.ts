import type {
  Package,
  Reading,
  Recording,
  RequestedReport,
  SoraEvent,
  SpentUsage,
  Upload,
} from '../evidence.ts';
import type { Random } from '../random.ts';

/** The platform's default of BILLING_TIME_ZONE is UTC+9. */
const zoneMs = 9 * 3_600_000;
const longestMs = 30 * 60_000;
/** Maximum duration of a meeting: a connection cannot begin long before its channel was created (rule A24). */
const longestMeetingMs = 50_000;
/** Random durations are multiples of this value, so that a unique number can be added; milliseconds. */
const grainMs = 10_000;

/** Record of all requests of the load to headsets, Sora and developers, and of the usage. */
export class LoadRecord {
  readonly reports: RequestedReport[] = [];
  readonly uploads: Upload[] = [];
  readonly spent: SpentUsage[] = [];
  readonly soraEvents: SoraEvent[] = [];
  readonly recordings: Recording[] = [];
  readonly packages: Package[] = [];
  readonly readings: Reading[] = [];
  /** Month of all usage and of the bill. A run over the end of a month reports false violations: repeat it. */
  readonly month: { readonly year: number; readonly month: number };
  #uses = 0;
  #numbers = 0;

  constructor(nowMs: number) {
    const there = new Date(nowMs + zoneMs);
    this.month = { year: there.getUTCFullYear(), month: there.getUTCMonth() + 1 };
  }

  /** Returns a number that no other report has. */
  nextNumber(): number {
    this.#numbers += 1;
    return this.#numbers;
  }

  /** Returns a unique duration of speech recognition; milliseconds. */
  duration(r: Random): number {
    return this.#duration(r, longestMs);
  }

  /** Returns a unique duration of a meeting; milliseconds. */
  meetingDuration(r: Random): number {
    return this.#duration(r, longestMeetingMs);
  }

  #duration(r: Random, mostMs: number): number {
    this.#uses += 1;
    return r.between(1, mostMs / grainMs - 1) * grainMs + (this.#uses % grainMs);
  }
}
