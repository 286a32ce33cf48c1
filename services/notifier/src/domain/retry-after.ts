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
