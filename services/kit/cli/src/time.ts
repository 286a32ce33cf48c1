import { InvalidArgumentError } from 'commander';

const unitMs: Readonly<Record<string, number>> = { s: 1000, m: 60_000, h: 3_600_000, d: 86_400_000 };

/** Parses a duration such as 90s, 15m, 2h or 1d for commander; milliseconds. */
export function duration(text: string): number {
  const [, count, unit = ''] = /^(\d{1,6})([smhd])$/.exec(text) ?? [];
  if (count === undefined) throw new InvalidArgumentError('It is not a duration such as 90s, 15m, 2h or 1d.');
  return Number(count) * (unitMs[unit] as number);
}

const iso = /^\d{4}-\d{2}-\d{2}(T\d{2}:\d{2}(:\d{2}(\.\d+)?)?(Z|[+-]\d{2}:\d{2}))?$/i;

/** Time formats that `instant` accepts, for help texts. */
export const instantForms =
  '2h (ago; s, m, h or d), a date (00:00 UTC), or ISO 8601 with its offset, such as 2026-11-24T10:00:00+09:00 or …Z';

/** Parses a time for commander, whatever the machine's time zone; milliseconds since 1970. */
export function instant(text: string): number {
  if (/^\d{1,6}[smhd]$/.test(text)) return Date.now() - duration(text);
  const ms = iso.test(text) && isDate(text.slice(0, 10)) ? Date.parse(text) : Number.NaN;
  if (!(ms > 0)) throw new InvalidArgumentError(`It is not a time: ${instantForms}.`);
  return ms;
}

/** False for a day that its month does not have: Date.parse reads 2026-02-31 as 3 March. */
function isDate(text: string): boolean {
  const ms = Date.parse(text);
  return !Number.isNaN(ms) && new Date(ms).toISOString().startsWith(text);
}
