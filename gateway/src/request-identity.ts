import { hash } from 'node:crypto';

/**
 * The digest that ties an Idempotency-Key to its request (rule A19). Covers the bytes of the body and the documented
 * query parameters (`parameters`), independent of their order and percent-encoding.
 */
export function requestDigest(body: Uint8Array, query: string, parameters: readonly string[]): Uint8Array {
  const ofBody = hash('sha256', body, 'buffer');
  const covered = [...new URLSearchParams(query)].filter(([name]) => parameters.includes(name));
  if (covered.length === 0) return ofBody;
  const sorted = new URLSearchParams(covered);
  sorted.sort();
  return hash('sha256', Buffer.concat([hash('sha256', sorted.toString(), 'buffer'), ofBody]), 'buffer');
}

/** A path in normalized spelling, because an unnecessary escape (`%33` for `3`) names the same resource. */
export function normalizedPath(path: string): string {
  return path.split('/').map(normalizedSegment).join('/');
}

function normalizedSegment(segment: string): string {
  try {
    return encodeURIComponent(decodeURIComponent(segment));
  } catch {
    return segment;
  }
}
