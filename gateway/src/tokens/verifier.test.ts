import { createHmac, sign } from 'node:crypto';
import { createFakeTime } from '@headset-cloud/runtime/testing/fake-time.ts';
import { waitFor } from '@headset-cloud/runtime/testing/wait.ts';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import { pino } from 'pino';
import {
  publicJwk,
  signToken,
  startTestIssuer,
  type TestIssuer,
  type TestKey,
  testKey,
} from '../testing/keys.ts';
import { KeySet } from './key-set.ts';
import type { TokenVerifier } from './types.ts';
import { createTokenVerifier } from './verifier.ts';

const audience = 'https://api.test';
const nowS = 1_800_000_000;
let rsa: TestKey;
let ec: TestKey;
let foreignKey: TestKey;
let small: TestKey;
let issuer: TestIssuer;
let nowMs: number;
let verifier: TokenVerifier;

const clock = { now: () => nowMs };
const claims = (over: object = {}) => ({
  iss: issuer.url,
  aud: audience,
  exp: nowS + 3600,
  client_id: 'client-1',
  scope: 'a b',
  ...over,
});
const newVerifier = (options: { jwksUri?: string; limitBytes?: number; timeoutMs?: number } = {}) =>
  createTokenVerifier({
    issuer: issuer.url,
    audience,
    clock,
    keys: new KeySet({ issuer: issuer.url, logger: pino({ level: 'silent' }), clock, ...options }),
  });

beforeAll(() => {
  rsa = testKey('rsa-1', 'RS256');
  ec = testKey('ec-1', 'ES256');
  foreignKey = testKey('rsa-1', 'RS256');
  small = testKey('small', 'RS256', 1024);
});

beforeEach(async () => {
  nowMs = nowS * 1000;
  await issuer?.close();
  issuer = await startTestIssuer([rsa, ec]);
  verifier = newVerifier();
});

afterAll(() => issuer.close());

const encode = (value: unknown) => Buffer.from(JSON.stringify(value)).toString('base64url');
/**
 * The token with additional claims, as text, before its own, signed again, because the library signs no unusual claims.
 */
const resign = (token: string, before: string) => {
  const [header, payload = ''] = token.split('.');
  const text = Buffer.from(payload, 'base64url').toString().replace('{', `{${before}`);
  const signed = `${header}.${Buffer.from(text).toString('base64url')}`;
  return `${signed}.${sign('sha256', Buffer.from(signed), rsa.privateKey).toString('base64url')}`;
};
const unsigned = (header: object, payload: object) => `${encode(header)}.${encode(payload)}.`;

describe('a valid token', () => {
  test.each(['RS256', 'RS384', 'RS512', 'PS256', 'PS384', 'PS512'] as const)(
    'signed with %s is accepted',
    async (alg) => {
      const token = signToken({ ...rsa, alg }, claims());
      expect(await verifier.verify(token)).toEqual({
        ...{ clientId: 'client-1', scopes: new Set(['a', 'b']), tokenId: '' },
      });
    },
  );

  test('signed with ES256 is accepted, and scp and azp replace scope and client_id', async () => {
    const token = signToken(
      ec,
      claims({ client_id: undefined, scope: undefined, azp: 'client-2', scp: ['x', 1] }),
    );
    expect(await verifier.verify(token)).toEqual({
      ...{ clientId: 'client-2', scopes: new Set(['x']), tokenId: '' },
    });
  });

  test('without a key id is accepted if only one key fits', async () => {
    const token = signToken(ec, claims(), { kid: undefined });
    expect((await verifier.verify(token)).clientId).toBe('client-1');
  });

  test('may name several audiences', async () => {
    const token = signToken(rsa, claims({ aud: ['other', audience] }));
    expect((await verifier.verify(token)).clientId).toBe('client-1');
  });

  test.each([
    ['expired for 59 s', { exp: nowS - 59 }],
    ['not valid for another 60 s', { nbf: nowS + 60 }],
    ['issued 60 s ahead of the gateway’s clock', { iat: nowS + 60 }],
  ])('%s is within the leeway', async (_, over) => {
    expect((await verifier.verify(signToken(rsa, claims(over)))).clientId).toBe('client-1');
  });
});

// protects against rest/token-unsigned, rest/token-confusion, rest/token-foreign-key, rest/token-key-id
// protects against rest/token-altered, rest/token-weak-key
// protects against rest/token-future
// rule A24
describe('a hostile token is rejected', () => {
  const pem = () => rsa.publicKey.export({ type: 'spki', format: 'pem' }) as string;
  const hmac = (header: object, secret: string) => {
    const input = `${encode(header)}.${encode(claims())}`;
    return `${input}.${createHmac('sha256', secret).update(input).digest('base64url')}`;
  };
  const cases: [string, () => string][] = [
    ['alg none', () => unsigned({ alg: 'none' }, claims())],
    ['alg NoNe', () => unsigned({ alg: 'NoNe', kid: 'rsa-1' }, claims())],
    ['HS256 with the public key as secret', () => hmac({ alg: 'HS256', kid: 'rsa-1' }, pem())],
    ['HS256 that claims to be RS256', () => hmac({ alg: 'RS256', kid: 'rsa-1' }, pem())],
    ['no signature', () => unsigned({ alg: 'RS256', kid: 'rsa-1' }, claims())],
    ['another key with a known key id', () => signToken(foreignKey, claims())],
    [
      'a changed payload',
      () => {
        const [h, , s] = signToken(rsa, claims()).split('.');
        return `${h}.${encode(claims({ scope: 'more' }))}.${s}`;
      },
    ],
    ['another issuer', () => signToken(rsa, claims({ iss: 'https://evil.test' }))],
    ['no issuer', () => signToken(rsa, claims({ iss: undefined }))],
    ['another audience', () => signToken(rsa, claims({ aud: 'other' }))],
    ['an audience with the same beginning', () => signToken(rsa, claims({ aud: `${audience}.evil` }))],
    ['no audience', () => signToken(rsa, claims({ aud: undefined }))],
    ['expired for 60 s', () => signToken(rsa, claims({ exp: nowS - 60 }))],
    ['no expiry', () => signToken(rsa, claims({ exp: undefined }))],
    ['not valid for another 61 s', () => signToken(rsa, claims({ nbf: nowS + 61 }))],
    ['issued 61 s ahead of the gateway’s clock', () => signToken(rsa, claims({ iat: nowS + 61 }))],
    [
      'issued ahead of the gateway’s clock, with an nbf that has begun',
      () => signToken(rsa, claims({ iat: nowS + 61, nbf: nowS })),
    ],
    // 1e999, which no JSON library writes, is read as infinity.
    ...[`"${nowS}"`, 'null', '[]', '1e999'].map((iat): [string, () => string] => [
      `the issue time ${iat}`,
      () => resign(signToken(rsa, claims()), `"iat":${iat},`),
    ]),
    ['no client', () => signToken(rsa, claims({ client_id: undefined }))],
    ['a client that is not a text', () => signToken(rsa, claims({ client_id: { $ne: '' } }))],
    ['a key of another kind by its id', () => signToken(rsa, claims(), { kid: 'ec-1' })],
    ['a key id that is a path', () => signToken(rsa, claims(), { kid: '../../dev/null' })],
    ['a key id that is a property', () => signToken(rsa, claims(), { kid: '__proto__' })],
    ['its own key (jwk)', () => signToken(foreignKey, claims(), { jwk: publicJwk(foreignKey) })],
    [
      'its own key set (jku)',
      () => signToken(foreignKey, claims(), { kid: 'x', jku: `${issuer.url}/other` }),
    ],
    ['critical extensions', () => signToken(rsa, claims(), { crit: ['b64'], b64: false })],
    ['two parts', () => 'a.b'],
    ['no JSON', () => 'e30.e30.e30'],
    ['a header that is null', () => `${encode(null)}.e30.e30`],
    ['huge', () => signToken(rsa, claims({ pad: 'x'.repeat(9000) }))],
    [
      'a payload that is not an object',
      () => {
        const token = signToken(rsa, claims());
        return `${token.split('.')[0]}.${encode('text')}.${token.split('.')[2]}`;
      },
    ],
  ];
  test.each(cases)('%s', async (_, token) => {
    await expect(verifier.verify(token())).rejects.toMatchObject({
      code: 'unauthenticated',
      headers: { 'WWW-Authenticate': expect.stringMatching(/^Bearer/) },
    });
  });

  test('a published key of 1024 bits is not used', async () => {
    issuer.keys.push(publicJwk(small));
    await expect(verifier.verify(signToken(small, claims()))).rejects.toMatchObject({
      code: 'unauthenticated',
    });
  });

  test.each([
    ['encryption', { use: 'enc' }],
    ['another algorithm', { alg: 'RS512' }],
    ['signing only', { key_ops: ['sign'] }],
  ])('a key meant for %s is not used', async (_, over) => {
    issuer.keys = [{ ...publicJwk(rsa), ...over }, publicJwk(ec)];
    await expect(verifier.verify(signToken(rsa, claims()))).rejects.toMatchObject({
      code: 'unauthenticated',
    });
  });

  test('a secret key among the published ones is not used', async () => {
    const secret = 'k'.repeat(32);
    issuer.keys.push({ kty: 'oct', kid: 'oct', alg: 'HS256', k: Buffer.from(secret).toString('base64url') });
    await expect(verifier.verify(hmac({ alg: 'HS256', kid: 'oct' }, secret))).rejects.toMatchObject({
      code: 'unauthenticated',
    });
  });
});

describe('the cache of verified tokens', () => {
  test('does not outlive the token', async () => {
    const token = signToken(rsa, claims({ exp: nowS + 10 }));
    await verifier.verify(token);
    nowMs += 69_000;
    await verifier.verify(token);
    nowMs += 1000;
    await expect(verifier.verify(token)).rejects.toMatchObject({ code: 'unauthenticated' });
  });

  // protects against rest/token-withdrawn-key
  test('forgets tokens of a key that the issuer has withdrawn', async () => {
    const token = signToken(rsa, claims());
    await verifier.verify(token);
    issuer.keys = [publicJwk(ec)];
    nowMs += 600_000;
    await waitFor('the token to be rejected', () =>
      verifier.verify(token).then(
        () => false,
        (error) => error.code === 'unauthenticated',
      ),
    );
  });
});

describe("the issuer's keys", () => {
  test('are fetched once for many tokens at once', async () => {
    const tokens = Array.from({ length: 50 }, (_, i) => signToken(ec, claims({ jti: String(i) })));
    await Promise.all(tokens.map((t) => verifier.verify(t)));
    expect(issuer.jwksFetches).toBe(1);
  });

  // protects against rest/key-flood
  test('a flood of unknown key ids causes one fetch in the cooldown', async () => {
    await verifier.verify(signToken(rsa, claims()));
    nowMs += 10_000;
    for (let i = 0; i < 30; i++) {
      const token = signToken(ec, claims(), { kid: `unknown-${i}` });
      await expect(verifier.verify(token)).rejects.toMatchObject({ code: 'unauthenticated' });
    }
    expect(issuer.jwksFetches).toBe(2);
    nowMs += 10_000;
    await expect(verifier.verify(signToken(ec, claims(), { kid: 'more' }))).rejects.toThrow('signing key');
    expect(issuer.jwksFetches).toBe(3);
  });

  test('a new key is found without a restart', async () => {
    await verifier.verify(signToken(rsa, claims()));
    const next = testKey('ec-2', 'ES384');
    issuer.keys.push(publicJwk(next));
    nowMs += 10_000;
    expect((await verifier.verify(signToken(next, claims()))).clientId).toBe('client-1');
  });

  test('a key that was replaced under the same id is found, and tokens of the old key are rejected', async () => {
    const old = signToken(rsa, claims());
    await verifier.verify(old);
    const next = testKey('rsa-1', 'RS256');
    issuer.keys = [publicJwk(next)];
    nowMs += 10_000;
    const tokens = [1, 2, 3].map((n) => signToken(next, claims({ jti: String(n) })));
    const found = await Promise.all(tokens.map((one) => verifier.verify(one)));
    expect(found.map((one) => one.clientId)).toEqual(['client-1', 'client-1', 'client-1']);
    expect(issuer.jwksFetches).toBe(2);
    await expect(verifier.verify(old)).rejects.toMatchObject({ code: 'unauthenticated' });
  });

  test('a key without an id that was replaced is found', async () => {
    const { kid: _, ...jwk } = publicJwk(rsa);
    issuer.keys = [jwk];
    await verifier.verify(signToken(rsa, claims(), { kid: undefined }));
    const next = testKey('next', 'RS256');
    issuer.keys = [{ ...publicJwk(next), kid: undefined }];
    nowMs += 10_000;
    const token = signToken(next, claims(), { kid: undefined });
    expect((await verifier.verify(token)).clientId).toBe('client-1');
  });

  // protects against rest/key-flood
  test('a flood of wrong signatures causes one fetch in the cooldown, even while the issuer is unavailable', async () => {
    const direct = newVerifier({ jwksUri: `${issuer.url}/jwks` });
    await direct.verify(signToken(rsa, claims()));
    nowMs += 10_000;
    const flood = async () => {
      for (let i = 0; i < 30; i++) {
        const token = signToken(foreignKey, claims({ jti: String(i) }));
        await expect(direct.verify(token)).rejects.toMatchObject({ code: 'unauthenticated' });
      }
    };
    await flood();
    expect(issuer.jwksFetches).toBe(2);
    issuer.broken = { status: 500, body: '' };
    nowMs += 10_000;
    await flood();
    expect(issuer.jwksFetches).toBe(3);
    expect((await direct.verify(signToken(rsa, claims({ jti: 'good' })))).clientId).toBe('client-1');
  });

  test('are found and withdrawn even if the wall clock was set back by an hour', async () => {
    const time = createFakeTime(nowMs);
    const keys = new KeySet({ issuer: issuer.url, logger: pino({ level: 'silent' }), clock: time });
    const stepped = createTokenVerifier({ issuer: issuer.url, audience, clock: time, keys });
    const old = signToken(rsa, claims());
    await stepped.verify(old);
    time.stepWallClock(-3_600_000);
    const next = testKey('ec-2', 'ES384');
    issuer.keys = [publicJwk(next)];
    await time.advance(10_000);
    expect((await stepped.verify(signToken(next, claims()))).clientId).toBe('client-1');
    await expect(stepped.verify(old)).rejects.toMatchObject({ code: 'unauthenticated' });
    await time.advance(30_000);
    expect(keys.ageSeconds).toBe(30);
  });

  test('are also fetched from an address with an upper-case scheme', async () => {
    issuer.jwksUri = `${issuer.url.replace('http', 'HTTP')}/jwks`;
    expect((await verifier.verify(signToken(rsa, claims()))).clientId).toBe('client-1');
  });

  test('are fetched from OIDC_JWKS_URI without discovery', async () => {
    issuer.discoveryIssuer = 'https://evil.test';
    const direct = newVerifier({ jwksUri: `${issuer.url}/jwks` });
    expect((await direct.verify(signToken(rsa, claims()))).clientId).toBe('client-1');
  });

  test.each([
    ['down', () => (issuer.broken = { status: 500, body: '' })],
    ['redirecting', () => (issuer.broken = { status: 302, body: '' })],
    ['sending no JSON', () => (issuer.broken = { status: 200, body: '<html>' })],
    ['answering too much', () => (issuer.broken = { status: 200, body: ' '.repeat(300_000) })],
    ['without usable keys', () => (issuer.keys = [])],
    ['another one by its discovery document', () => (issuer.discoveryIssuer = 'https://evil.test')],
  ])('an issuer that is %s, without cached keys, causes unavailable until it recovers', async (_, spoil) => {
    const keys = issuer.keys;
    spoil();
    const token = signToken(rsa, claims());
    await expect(verifier.verify(token)).rejects.toMatchObject({ code: 'unavailable', retryAfterMs: 1000 });
    const fetches = issuer.jwksFetches;
    await expect(verifier.verify(token)).rejects.toMatchObject({ code: 'unavailable' });
    expect(issuer.jwksFetches).toBe(fetches);
    issuer.broken = undefined;
    issuer.keys = keys;
    issuer.discoveryIssuer = issuer.url;
    nowMs += 1000;
    expect((await verifier.verify(token)).clientId).toBe('client-1');
  });

  test('an issuer that never answers causes unavailable within a limited time', async () => {
    issuer.silent = true;
    const impatient = newVerifier({ timeoutMs: 50 });
    await expect(impatient.verify(signToken(rsa, claims()))).rejects.toMatchObject({ code: 'unavailable' });
  });

  test('cached keys are used while the issuer is unavailable', async () => {
    await verifier.verify(signToken(rsa, claims()));
    issuer.broken = { status: 500, body: '' };
    nowMs += 700_000;
    expect((await verifier.verify(signToken(rsa, claims({ jti: '2' })))).clientId).toBe('client-1');
  });
});
