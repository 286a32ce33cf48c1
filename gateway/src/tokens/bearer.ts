import { unauthenticated } from '../http/errors.ts';

const form = /^bearer +([A-Za-z0-9\-._~+/]+=*) *$/i;

/** The token of an Authorization header (RFC 6750). Throws unauthenticated. */
export function bearerToken(authorization: string | undefined): string {
  if (authorization === undefined || authorization === '') throw unauthenticated();
  const token = form.exec(authorization)?.[1];
  if (token === undefined) throw unauthenticated('the Authorization header is not a bearer token');
  return token;
}
