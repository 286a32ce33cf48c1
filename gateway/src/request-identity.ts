import { hash } from 'node:crypto';

/**
 * The digest that ties an Idempotency-Key to what is asked (rule A19): the body, byte by byte, and the
 * call's parameters in the query where there are some, however they are spelled.
 */
export function requestDigest(body: Uint8Array, query: string, parameters: readonly string[]): Uint8Array {
  const ofBody = hash('sha256', body, 'buffer');
  const asked = [...new URLSearchParams(query)].filter(([name]) => parameters.includes(name));
  if (asked.length === 0) return ofBody;
  const sorted = new URLSearchParams(asked);
  sorted.sort();
  return hash('sha256', Buffer.concat([hash('sha256', sorted.toString(), 'buffer'), ofBody]), 'buffer');
}

/** A path in one spelling: what is escaped for no reason (`%33` for `3`) names the same resource. */
export function spelledPath(path: string): string {
  return path.split('/').map(spelledSegment).join('/');
}

function spelledSegment(segment: string): string {
  try {
    return encodeURIComponent(decodeURIComponent(segment));
  } catch {
    return segment;
  }
}
