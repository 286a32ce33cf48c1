import { DomainError } from '@headset-cloud/runtime/errors.ts';
import { DateTime, FixedOffsetZone, IANAZone, type Zone } from 'luxon';

export interface Month {
  readonly year: number;
  /** 1 to 12. */
  readonly month: number;
}

/** From `fromMs`, before `toMs`; milliseconds since 1970. */
export interface Span {
  readonly fromMs: number;
  readonly toMs: number;
}

const hourMs = 3_600_000;

/**
 * Parses a time zone: a fixed offset (UTC, UTC+9, +09:00, -03:30) or an IANA name (Asia/Tokyo). Throws an Error for any
 * other text.
 */
export function parseZone(text: string): Zone {
  const [, sign, hours = '', minutes = '00'] =
    /^(?:UTC)?(?:([+-])(\d{1,2})(?::([0-5]\d))?)$/i.exec(text) ?? [];
  if (sign) {
    const offset = (Number(hours) * 60 + Number(minutes)) * (sign === '-' ? -1 : 1);
    if (offset >= -12 * 60 && offset <= 14 * 60) return FixedOffsetZone.instance(offset);
  } else if (/^utc$/i.test(text)) return FixedOffsetZone.utcInstance;
  else if (IANAZone.isValidZone(text)) return IANAZone.create(text);
  throw new Error('is not a time zone such as UTC+9 (-12 to +14) or Asia/Tokyo');
}

/** Year and month of a bill (specification API 5). Throws `invalid_argument`. */
export function requireMonth({ year, month }: Month): Month {
  if (!Number.isInteger(year) || year < 2022 || year > 9999) {
    throw new DomainError('invalid_argument', 'year is not a whole number from 2022 to 9999.');
  }
  if (!Number.isInteger(month) || month < 1 || month > 12) {
    throw new DomainError('invalid_argument', 'month is not a whole number from 1 to 12.');
  }
  return { year, month };
}

/** The month of a time. */
export function monthAt(atMs: number, zone: Zone): Month {
  const { year, month } = DateTime.fromMillis(atMs, { zone });
  return { year, month };
}

/** From the first moment of the month to the first moment of the next month. */
export function spanOf({ year, month }: Month, zone: Zone): Span {
  const next = month === 12 ? { year: year + 1, month: 1 } : { year, month: month + 1 };
  return { fromMs: firstMoment({ year, month }, zone), toMs: firstMoment(next, zone) };
}

function firstMoment(month: Month, zone: Zone): number {
  const midnight = DateTime.fromObject(month, { zone }).startOf('month');
  // If the clocks are set back to midnight, midnight occurs twice. The month begins at the first midnight.
  return Math.min(...midnight.getPossibleOffsets().map((one) => one.toMillis()));
}

/** Negative, 0 or positive if `a` is before, the same as or after `b`. */
export function compareMonths(a: Month, b: Month): number {
  return a.year * 12 + a.month - (b.year * 12 + b.month);
}

/** Number of a month: months since year 0. */
export function monthKey({ year, month }: Month): number {
  return year * 12 + month - 1;
}

/** The month with the number `monthKey`. */
export function monthOfKey(key: number): Month {
  return { year: Math.floor(key / 12), month: (key % 12) + 1 };
}

/**
 * The months (`monthKey`) that a time span touches in any time zone. Usage is indexed by these months, so that it is
 * found after a change of BILLING_TIME_ZONE, too. `endMs` is exclusive unless the span is empty.
 */
export function touchedMonths(startMs: number, endMs: number): number[] {
  const utc = FixedOffsetZone.utcInstance;
  const first = monthKey(monthAt(startMs - 12 * hourMs, utc));
  const last = monthKey(monthAt(Math.max(startMs, endMs - 1) + 14 * hourMs, utc));
  return Array.from({ length: last - first + 1 }, (_, n) => first + n);
}
