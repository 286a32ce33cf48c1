import { randomUUID } from 'node:crypto';

const form = /^[A-Za-z0-9._-]{1,128}$/;

/** The id for the answer's X-Request-Id: the request's own id if it is safe, otherwise a new one. */
export function requestId(given: string | string[] | undefined): string {
  return typeof given === 'string' && form.test(given) ? given : randomUUID();
}
