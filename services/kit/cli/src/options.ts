import { InvalidArgumentError } from 'commander';

/** Parses a whole number from 0 for commander. */
export function wholeNumber(text: string): number {
  if (!/^\d{1,9}$/.test(text))
    throw new InvalidArgumentError('It is not a whole number from 0 to 999999999.');
  return Number(text);
}

/** Maximum number of entries that a service lists in one answer. */
const mostListed = 1000;

/** Parses the maximum number of list entries for commander. Rejects 0, which services read as their default. */
export function listLimit(text: string): number {
  const n = /^\d{1,9}$/.test(text) ? Number(text) : 0;
  if (n < 1 || n > mostListed) {
    throw new InvalidArgumentError(`It is not a whole number from 1 to ${mostListed}.`);
  }
  return n;
}

/** Line below a list of `limit` rows, which may be incomplete; empty for a shorter list. */
export function moreHint(rows: readonly unknown[], limit: number): string {
  return rows.length === limit ? `There may be more: --limit shows up to ${mostListed}.\n` : '';
}

const unitMs: Readonly<Record<string, number>> = { s: 1000, m: 60_000, h: 3_600_000, d: 86_400_000 };

/** Parses a time such as 90s, 15m, 2h or 1d for commander; milliseconds. */
export function duration(text: string): number {
  const [, count, unit = ''] = /^(\d{1,6})([smhd])$/.exec(text) ?? [];
  if (count === undefined) throw new InvalidArgumentError('It is not a time such as 90s, 15m, 2h or 1d.');
  return Number(count) * (unitMs[unit] as number);
}

const iso = /^\d{4}-\d{2}-\d{2}(T\d{2}:\d{2}(:\d{2}(\.\d+)?)?(Z|[+-]\d{2}:\d{2}))?$/i;

/** Time formats that `instant` accepts, for help texts. */
export const instantForm =
  'ISO 8601 with its offset, such as 2026-11-24T10:00:00+09:00 or …Z; a date is 00:00 UTC';

/** Parses a time for commander, whatever the machine's time zone; milliseconds since 1970. */
export function instant(text: string): number {
  const ms = iso.test(text) ? Date.parse(text) : Number.NaN;
  if (!(ms > 0)) throw new InvalidArgumentError(`It is not a time: ${instantForm}.`);
  return ms;
}
