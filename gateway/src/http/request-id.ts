import { randomUUID } from 'node:crypto';

const form = /^[A-Za-z0-9._-]{1,128}$/;

/** The id that X-Request-Id of the answer carries: the request's own where it is harmless, else a new one. */
export function requestId(given: string | string[] | undefined): string {
  return typeof given === 'string' && form.test(given) ? given : randomUUID();
}
