import {
  createHmac,
  createPrivateKey,
  createPublicKey,
  generateKeyPairSync,
  type KeyObject,
  sign,
} from 'node:crypto';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Random } from '../../faults/random.ts';
import { hostileTexts, mutatedBytes } from './bytes.ts';
import { answered, exchange, head, strange } from './http.ts';
import { fuzz } from './listener.ts';

type Json = Record<string, unknown>;

/** Parts from which changed tokens are built. */
interface Right {
  readonly token: string;
  readonly header: Json;
  readonly claims: Json;
  /** The issuer's key, to sign tokens that must be rejected for other reasons. */
  readonly issuerKey: KeyObject;
  readonly foreignKey: KeyObject;
}

const encode = (value: unknown): string =>
  Buffer.from(typeof value === 'string' ? value : JSON.stringify(value)).toString('base64url');
const signed = (header: unknown, claims: unknown, key: KeyObject): string => {
  const text = `${encode(header)}.${encode(claims)}`;
  return `${text}.${sign('sha256', Buffer.from(text), key).toString('base64url')}`;
};

/** Changed access tokens. None may be accepted, except an unchanged token in another spelling. */
// protects against rest/token-none, rest/token-unsigned, rest/token-confusion, rest/token-foreign-key, rest/token-key-id
// protects against rest/token-altered, rest/token-expired, rest/token-future, rest/token-issuer, rest/token-audience
// protects against rest/token-client, rest/token-huge
export const tokens = fuzz('no changed access token is accepted', {
  name: 'tokens',
  atOnce: 4,
  async open({ stack, watched }) {
    const { signingKey } = JSON.parse(readFileSync(join(stack.dataDir, 'issuer.json'), 'utf8'));
    const issuerKey = createPrivateKey({ key: signingKey, format: 'jwk' });
    const foreignKey = generateKeyPairSync('rsa', { modulusLength: 2048 }).privateKey;
    const { host } = new URL(stack.apiUrl);
    const app = `/v1/applications/${watched.applicationId}`;
    const on = `${app}/devices/${watched.devices[0]?.deviceId}`;
    const changing = [
      ['PUT', `${on}/commands`, '{"package":"a","launchType":"activity"}'],
      ['PATCH', app, '{"deviceEvent":null}'],
      ['DELETE', on, ''],
    ] as const;
    return {
      async one(random) {
        const token = await watched.api.token();
        const [header = {}, claims = {}] = token
          .split('.', 2)
          .map((part) => JSON.parse(Buffer.from(part, 'base64url').toString('utf8')) as Json);
        const values = headerValues({ token, header, claims, issuerKey, foreignKey }, random);
        const isRight = mayBeRight(values[0] ?? '', token);
        // Use a read-only call for a token that may be valid.
        const [method, path, body] =
          isRight || random.chance(0.5)
            ? (['GET', random.pick([app, on]), ''] as const)
            : random.pick(changing);
        const lines = values.map((value) => ['Authorization', value] as const);
        const bytes = head(method, path, [
          ['Host', host],
          ...lines,
          ...(body ? [['Content-Type', 'application/json'] as const] : []),
          ...(method === 'GET' ? [] : [['Content-Length', String(body.length)] as const]),
        ]);
        const sent = Buffer.concat([bytes, Buffer.from(body)]);
        const answer = await exchange(stack.apiUrl, [sent]);
        const isHttp =
          values.every((value) => /^[\t\x20-\x7e\x80-\xff]*$/.test(value)) && bytes.length < 16_000;
        const allowed = [401, 403, ...(isHttp ? [] : [400, 431]), ...(isRight ? [200] : [])];
        const { status } = answer;
        const wrong =
          status === undefined || status >= 500 || allowed.includes(status)
            ? strange(answer)
            : `${method} was answered with ${status}`;
        return { sent, expectsAnswer: true, ...answered(answer), ...(wrong && { wrong }) };
      },
    };
  },
});

/** Whether the header contains the valid token: the same signed bytes and the same signature bytes. */
function mayBeRight(value: string, right: string): boolean {
  const token = value.replace(/^[ \t]*bearer +/i, '').trim();
  const cut = (text: string) => [text.slice(0, text.lastIndexOf('.')), text.slice(text.lastIndexOf('.') + 1)];
  const [text, signature = ''] = cut(token);
  const [rightText, rightSignature = ''] = cut(right);
  const bytes = (part: string) => Buffer.from(part, 'base64url');
  return text === rightText && bytes(signature).equals(bytes(rightSignature));
}

function headerValues(right: Right, random: Random): string[] {
  if (random.chance(0.15)) return random.pick(schemes)(right.token, random);
  return [`Bearer ${random.pick(mutations)(right, random)}`];
}

/** Changes the header's value, not the token. Of two lines, the valid one is last. */
const schemes: readonly ((token: string, random: Random) => string[])[] = [
  (token) => [token],
  (token) => [`bearer ${token}`],
  (token) => [`BEARER    ${token}   `],
  (token) => [`Bearer\t${token}`],
  (token) => [`Bearer ${token},Bearer ${token}`],
  (token) => [`Bearer "${token}"`],
  (token) => [`Bearer Bearer ${token}`],
  (token) => [`Basic ${Buffer.from(`a:${token}`).toString('base64')}`],
  (token, random) => [`${random.pick(['DPoP', 'Token', 'JWT', 'Negotiate', ''])} ${token}`],
  (token) => ['', `Bearer ${token}`],
  (token) => ['Bearer x', `Bearer ${token}`],
  (token, random) => [
    mutatedBytes(Buffer.from(`Bearer ${token}`), random)
      .toString('latin1')
      .replaceAll(/[\r\n]/g, ''),
  ],
  (_, random) =>
    [random.pick(hostileTexts).replaceAll(/[\r\n]/g, '')].map((text) => Buffer.from(text).toString('latin1')),
];

const mutations: readonly ((right: Right, random: Random) => string)[] = [
  ({ token }, random) =>
    mutatedBytes(Buffer.from(token), random)
      .toString('latin1')
      .replaceAll(/[\r\n]/g, ''),
  // A part of the text.
  ({ token }, random) => {
    const parts = token.split('.');
    const i = random.between(0, 2);
    const bytes = mutatedBytes(Buffer.from(parts[i] ?? '', 'base64url'), random);
    return parts.with(i, bytes.toString('base64url')).join('.');
  },
  // Exchanged, added or removed parts.
  ({ token }, random) => {
    const parts = token.split('.');
    const [a = '', b = '', c = ''] = parts;
    return random
      .pick([
        [a, b],
        [a, b, ''],
        [a, b, c, ''],
        ['', b, c],
        [a, '', c],
        [b, a, c],
        [a, b, c, c, c],
        [a, c],
      ])
      .join('.');
  },
  // Other claims with the old signature.
  ({ token, claims }, random) =>
    token
      .split('.')
      .with(1, encode(changedClaims(claims, random)))
      .join('.'),
  // Another header with the old signature, without one, or with a foreign key.
  ({ header, claims, token, foreignKey }, random) => {
    const changed = changedHeader(header, foreignKey, random);
    if (random.chance(0.3)) return token.split('.').with(0, encode(changed)).join('.');
    if (random.chance(0.3)) return `${encode(changed)}.${encode(claims)}.`;
    return signed(changed, claims, foreignKey);
  },
  ({ header, claims, foreignKey }) => signed(header, claims, foreignKey),
  // The public key as a shared secret.
  ({ header, claims, issuerKey }, random) => {
    const alg = random.pick(['HS256', 'HS384', 'HS512'] as const);
    const text = `${encode({ ...header, alg })}.${encode(claims)}`;
    const publicKey = createPublicKey(issuerKey);
    const secret = random.pick([
      publicKey.export({ type: 'spki', format: 'pem' }),
      publicKey.export({ type: 'spki', format: 'der' }),
      publicKey.export({ type: 'pkcs1', format: 'pem' }),
      JSON.stringify(publicKey.export({ format: 'jwk' })),
      '',
    ]);
    return `${text}.${createHmac(`sha${alg.slice(2)}`, secret)
      .update(text)
      .digest('base64url')}`;
  },
  // Claims for another service, another time or no client, signed by the issuer.
  ({ header, claims, issuerKey }, random) => signed(header, refusedClaims(claims, random), issuerKey),
  // A header that must be rejected although the issuer signed it.
  ({ header, claims, issuerKey }, random) => {
    const bad = {
      ...header,
      ...random.pick([
        { alg: 'none' },
        { alg: 'HS256' },
        { alg: 'rs256' },
        { alg: null },
        { alg: ['RS256'] },
        { crit: ['exp'] },
        { kid: {} },
        { kid: 'x'.repeat(300) },
        { kid: 'unknown' },
      ]),
    };
    return signed(bad, claims, issuerKey);
  },
  // Very large or deeply nested tokens.
  ({ token, header, claims, issuerKey }, random) => {
    const size = random.pick([5000, 7000, 9000, 15_000]);
    const padded = { ...claims, pad: 'x'.repeat(size), exp: 1 };
    return random.pick([
      () => signed(header, padded, issuerKey),
      () => signed({ ...header, cty: 'JWT' }, token, issuerKey),
      () => `${token}${'.'.repeat(size)}`,
      () => 'A'.repeat(size),
      () => signed(header, `{"a":${'['.repeat(size / 10)}`, issuerKey),
    ])();
  },
];

function changedClaims(claims: Json, random: Random): unknown {
  const name = random.pick([...Object.keys(claims), 'admin', '__proto__']);
  const value = random.pick<unknown>([null, true, -1, 1e300, {}, [], 'other', ...hostileTexts.slice(0, 20)]);
  const text = JSON.stringify({ ...claims, [name]: undefined });
  // Built by hand, so that __proto__ is an ordinary name, possibly repeated.
  const changed = `${text.slice(0, -1)},${JSON.stringify(name)}:${JSON.stringify(value)}}`;
  return changed === JSON.stringify(claims) ? `${changed} ` : changed;
}

/**
 * Returns claims that no service may accept, with any signature. A client without a developer is not included, because
 * the specification requires a 500 for it.
 */
function refusedClaims(claims: Json, random: Random): unknown {
  const now = Math.floor(Date.now() / 1000);
  const wrong: Json = random.pick<Json>([
    { exp: now - 1000 },
    { exp: undefined },
    { exp: String(now + 1000) },
    { exp: null },
    { exp: {} },
    { nbf: now + 1000 },
    { nbf: 'x' },
    { iat: now + 1000 },
    { iat: 'x' },
    { iss: 'https://other.test' },
    { iss: undefined },
    { iss: `${claims['iss']}/` },
    { iss: {} },
    { aud: 'other' },
    { aud: undefined },
    { aud: [] },
    { aud: [['urn:headset-cloud:api']] },
    { aud: { 'urn:headset-cloud:api': true } },
    { client_id: undefined, azp: undefined },
    { client_id: {} },
    { client_id: '' },
    { client_id: ['watched'] },
    { client_id: 'spare' },
    { scope: undefined },
    { scope: {} },
    { scope: '' },
    { scope: 'cws:device' },
    { scope: ['cws:application:read cws:device:read'] },
    { scope: `x${claims['scope']}`.replaceAll(' ', ',') },
  ]);
  return random.chance(0.05)
    ? random.pick<unknown>(['null', '[]', '"text"', '1', '{', '', '{}'])
    : { ...claims, ...wrong };
}

function changedHeader(header: Json, foreignKey: KeyObject, random: Random): Json {
  const jwk = createPublicKey(foreignKey).export({ format: 'jwk' });
  const kid = random.pick<unknown>([
    ...[
      '../../../../dev/null',
      '/dev/null',
      'file:///etc/passwd',
      'http://127.0.0.1:1/',
      '__proto__',
      'constructor',
      '',
    ],
    ...[
      null,
      0,
      {},
      [],
      ['a'],
      true,
      'x'.repeat(200),
      'x'.repeat(2000),
      "' UNION SELECT 1 --",
      undefined,
      random.next().toString(36),
    ],
  ]);
  return random.pick<Json>([
    {
      ...header,
      alg: random.pick([
        'none',
        'None',
        'NONE',
        'nOnE',
        'none ',
        '',
        'HS256',
        'ES256',
        'PS256',
        'RS1',
        'EdDSA',
      ]),
    },
    { ...header, alg: random.pick<unknown>([null, {}, [], 0, true]) },
    { ...header, kid },
    { ...header, kid, jwk, jku: 'http://127.0.0.1:1/keys', x5u: 'http://127.0.0.1:1/', x5c: ['MA=='] },
    { ...header, crit: ['b64'], b64: false },
    { ...header, zip: 'DEF', enc: 'A128GCM', alg: 'dir' },
    { alg: header['alg'] },
    {},
  ]);
}
