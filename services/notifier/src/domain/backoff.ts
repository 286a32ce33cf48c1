/** Bounds of a pause that doubles; milliseconds. */
export interface BackoffBounds {
  readonly firstMs: number;
  readonly maxMs: number;
}

/**
 * Exponential backoff with full jitter: a random pause between 0 and first × 2^(failures − 1), at
 * most max. `random` is in [0, 1).
 */
export function backoffMs(failures: number, bounds: BackoffBounds, random: number): number {
  const ceiling = Math.min(bounds.maxMs, bounds.firstMs * 2 ** Math.min(Math.max(failures, 1) - 1, 40));
  return Math.floor(random * (ceiling + 1));
}

/**
 * A Retry-After header (RFC 9110 section 10.2.3: seconds or an HTTP date) as milliseconds from now,
 * between 0 and `maxMs`; undefined when there is none or it is malformed.
 */
export function retryAfterMs(
  header: string | string[] | undefined,
  nowMs: number,
  maxMs: number,
): number | undefined {
  const value = (Array.isArray(header) ? header[0] : header)?.trim();
  if (!value) return undefined;
  const wanted = /^\d+$/.test(value) ? Number(value) * 1000 : Date.parse(value) - nowMs;
  return Number.isNaN(wanted) ? undefined : Math.min(Math.max(wanted, 0), maxMs);
}
