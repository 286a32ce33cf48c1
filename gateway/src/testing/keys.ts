import { generateKeyPairSync, type KeyObject } from 'node:crypto';
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import jwt from 'jsonwebtoken';

export interface TestKey {
  readonly kid: string;
  readonly alg: jwt.Algorithm;
  readonly privateKey: KeyObject;
  readonly publicKey: KeyObject;
}

/** A key pair for the algorithm. */
export function testKey(kid: string, alg: jwt.Algorithm, bits = 2048): TestKey {
  const pair = alg.startsWith('ES')
    ? generateKeyPairSync('ec', { namedCurve: alg === 'ES384' ? 'P-384' : 'P-256' })
    : generateKeyPairSync('rsa', { modulusLength: bits });
  return { kid, alg, ...pair };
}

export function publicJwk(key: TestKey): Record<string, unknown> {
  return { ...key.publicKey.export({ format: 'jwk' }), kid: key.kid, use: 'sig' };
}

/** The two documents of a token issuer on a real server; counts the fetches of its keys. */
export interface TestIssuer {
  readonly url: string;
  keys: Record<string, unknown>[];
  /** If set, this answer replaces both documents. */
  broken: { status: number; body: string } | undefined;
  /** If true, no request is answered. */
  silent: boolean;
  jwksFetches: number;
  discoveryIssuer: string;
  /** The `jwks_uri` of the discovery document; undefined for the correct address. */
  jwksUri: string | undefined;
  close(): Promise<void>;
}

export async function startTestIssuer(keys: readonly TestKey[]): Promise<TestIssuer> {
  const server = createServer((req, res) => {
    const isKeys = req.url === '/jwks';
    if (isKeys) issuer.jwksFetches++;
    if (issuer.silent) return;
    if (issuer.broken) res.writeHead(issuer.broken.status).end(issuer.broken.body);
    else if (isKeys) res.end(JSON.stringify({ keys: issuer.keys }));
    else
      res.end(
        JSON.stringify({ issuer: issuer.discoveryIssuer, jwks_uri: issuer.jwksUri ?? `${issuer.url}/jwks` }),
      );
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const issuer: TestIssuer = {
    url,
    keys: keys.map(publicJwk),
    broken: undefined,
    silent: false,
    jwksFetches: 0,
    discoveryIssuer: url,
    jwksUri: undefined,
    async close() {
      const closed = once(server, 'close');
      server.close();
      server.closeAllConnections();
      await closed;
    },
  };
  return issuer;
}

/** A signed token with these claims; `header` overrides the header. */
export function signToken(key: TestKey, claims: object, header: object = {}): string {
  // Undefined claims are left out, like in JSON.
  const payload = JSON.parse(JSON.stringify(claims));
  return jwt.sign(payload, key.privateKey, {
    algorithm: key.alg,
    // The library would otherwise delete a given `iat`.
    noTimestamp: payload.iat === undefined,
    header: { alg: key.alg, kid: key.kid, ...header },
    allowInsecureKeySizes: true,
  });
}
