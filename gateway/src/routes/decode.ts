import { DomainError } from '@headset-cloud/runtime/errors.ts';
import type { Call } from './types.ts';

/** A call's validated body with the type of its schema. */
export function bodyOf<T>({ body }: Pick<Call, 'body'>): T {
  return body?.value as T;
}

/**
 * A query parameter's date and time (RFC 3339) in milliseconds since 1970; undefined if it is not given. Throws
 * invalid_argument for a date that does not exist or is before 1970.
 */
export function timeOf(query: Call['query'], name: string): bigint | undefined {
  const given = query[name];
  if (given === undefined) return undefined;
  const text = String(given);
  const ms = Date.parse(text);
  const [, year, month, day] = /^(\d{4})-(\d{2})-(\d{2})/.exec(text) ?? [];
  // JavaScript reads the 31st of a month with 30 days as the next day.
  const isDay = new Date(Date.UTC(Number(year), Number(month) - 1, Number(day))).getUTCDate() === Number(day);
  if (Number.isNaN(ms) || ms < 0 || !isDay) {
    throw new DomainError(
      'invalid_argument',
      `The query parameter ${name} must be a date and time (RFC 3339).`,
    );
  }
  return BigInt(ms);
}
