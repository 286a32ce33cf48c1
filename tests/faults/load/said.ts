import type { Package, Reading, Recording, SaidReport, SoraEvent, SpentUsage, Upload } from '../evidence.ts';
import type { Random } from '../random.ts';

/** The platform's default of BILLING_TIME_ZONE is UTC+9. */
const zoneMs = 9 * 3_600_000;
const longestMs = 30 * 60_000;
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
  /** The end time of all usage, chosen so that it lies in one month; milliseconds since 1970. */
  readonly usedUntilMs: number;
  #uses = 0;
  #numbers = 0;

  constructor(nowMs: number) {
    const monthStart = monthOf(nowMs).startMs;
    // In the first hour of a month, the usage is put into the month before.
    this.usedUntilMs = nowMs - monthStart < 2 * longestMs ? monthStart : nowMs;
  }

  /** The month of the bill. */
  get month(): { year: number; month: number } {
    const { year, month } = monthOf(this.usedUntilMs - 1);
    return { year, month };
  }

  /** A number that no other report has. */
  nextNumber(): number {
    this.#numbers += 1;
    return this.#numbers;
  }

  /** A duration that no other use has; milliseconds. */
  duration(r: Random): number {
    this.#uses += 1;
    return r.between(1, longestMs / grainMs - 1) * grainMs + (this.#uses % grainMs);
  }
}

function monthOf(atMs: number): { year: number; month: number; startMs: number } {
  const there = new Date(atMs + zoneMs);
  const [year, month] = [there.getUTCFullYear(), there.getUTCMonth()];
  return { year, month: month + 1, startMs: Date.UTC(year, month) - zoneMs };
}
