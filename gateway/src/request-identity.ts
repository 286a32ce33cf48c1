import { hash } from 'node:crypto';

/**
 * The digest that ties an Idempotency-Key to what is asked (ruling A19): the body, byte by byte, and the
 * query where there is one, however it is spelled.
 */
export function requestDigest(body: Uint8Array, query: string): Uint8Array {
  const ofBody = hash('sha256', body, 'buffer');
  if (query === '') return ofBody;
  const asked = new URLSearchParams(query);
  asked.sort();
  return hash('sha256', Buffer.concat([hash('sha256', asked.toString(), 'buffer'), ofBody]), 'buffer');
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
