import { createPublicKey, type KeyObject, type webcrypto } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { allScopes } from '@headset-cloud/demo/api.ts';
import jwt from 'jsonwebtoken';
import { request } from 'undici';
import { stack } from './harness.ts';

/** The issuer's key of the platform under test, for tokens that the issuer would never sign. */
export function issuerKey(): { privateKey: webcrypto.JsonWebKey & { kid: string }; publicKey: KeyObject } {
  const { signingKey } = JSON.parse(readFileSync(join(stack.dataDir, 'issuer.json'), 'utf8'));
  const { kty, n, e } = signingKey;
  return { privateKey: signingKey, publicKey: createPublicKey({ key: { kty, n, e }, format: 'jwk' }) };
}

/** Claims of a valid token, valid from now; seconds since 1970. */
export function goodClaims(clientId: string): Record<string, unknown> {
  const now = Math.floor(Date.now() / 1000);
  return {
    iss: stack.issuerUrl,
    aud: 'urn:headset-cloud:api',
    sub: clientId,
    client_id: clientId,
    scope: allScopes,
    iat: now,
    exp: now + 600,
  };
}

/** A token with the given key, algorithm and header; undefined claims are left out. */
export function sign(
  claims: Record<string, unknown>,
  key: jwt.Secret | jwt.PrivateKey,
  algorithm: jwt.Algorithm,
  header: Record<string, unknown> = {},
): string {
  const payload = JSON.parse(JSON.stringify(claims));
  return jwt.sign(payload, key, {
    algorithm,
    // Otherwise the library would delete a given `iat`.
    noTimestamp: payload.iat === undefined,
    allowInvalidAsymmetricKeyTypes: true,
    header: { alg: algorithm, typ: 'at+jwt', ...header },
  });
}

/** Answer to a request with headers chosen by the test alone. */
export interface PlainAnswer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  readonly text: string;
}

/** Sends a request to the API without adding a token. */
export async function plain(
  method: string,
  path: string,
  headers: Record<string, string> = {},
  body?: string | Buffer,
): Promise<PlainAnswer> {
  const answer = await request(stack.apiUrl + path, {
    method: method as 'GET',
    headers,
    ...(body !== undefined && { body }),
  });
  return { status: answer.statusCode, headers: answer.headers, text: await answer.body.text() };
}
