import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { readConfig } from '@headset-cloud/runtime/config.ts';
import { beforeAll, describe, expect, test } from '@jest/globals';
import { gatewayConfig } from '../config.ts';
import { signToken, type TestKey, testKey } from '../testing/keys.ts';
import { claimRulesOf } from './claims.ts';
import type { KeySet } from './key-set.ts';
import { createTokenVerifier } from './verifier.ts';

/** Tokens of common issuers, with the settings in the manual. */
const manual = readFileSync(join(import.meta.dirname, '../../../docs/operations/issuer.md'), 'utf8');
const [, chapter = ''] = manual.split('## Issuers\n');
const examples: Record<string, Record<string, unknown>> = JSON.parse(
  /```json\n([^`]+)```/.exec(chapter)?.[1] ?? '',
);
const settings = new Map(
  [
    ...chapter
      .split('```', 1)
      .join()
      .matchAll(/^\| ([^|]+) \| (`OIDC_[^|]+) \|/gm),
  ].map(([, issuer = '', cell = '']) => [
    issuer,
    Object.fromEntries(
      [...cell.matchAll(/`(\w+)=([^`]+)`/g)].map(([, key = '', value = '']) => [key, value]),
    ),
  ]),
);

let key: TestKey;
beforeAll(() => {
  key = testKey('key-1', 'ES256');
});

function verify(env: Record<string, string>, claims: object, at = 1_800_000_000) {
  const config = readConfig(gatewayConfig, env);
  const keys: Pick<KeySet, 'find' | 'replacementOf' | 'generation'> = {
    find: async () => ({ kid: key.kid, key: key.publicKey, algorithms: new Set(['ES256'] as const) }),
    replacementOf: async () => undefined,
    generation: 0,
  };
  const verifier = createTokenVerifier({
    ...{ issuer: config.OIDC_ISSUER, audience: config.OIDC_AUDIENCE, claims: claimRulesOf(config) },
    ...{ keys: keys as KeySet, clock: { now: () => at * 1000 } },
  });
  return verifier.verify(signToken(key, claims));
}

const names = ['Keycloak', 'Entra v1', 'Entra v2', 'Auth0', 'Okta', 'Cognito', 'Zitadel'];

test('the manual has settings and an example token for each issuer', () => {
  expect([...settings.keys()]).toEqual(names);
  expect(Object.keys(examples)).toEqual(names);
});

describe.each(names)('%s', (name) => {
  const env = settings.get(name) ?? {};
  const claims = examples[name] ?? {};

  test('the example token names its client and its scope', async () => {
    const { clientId, scopes } = await verify(env, claims);
    expect(clientId).toBe('headset-app');
    expect(scopes).toContain('cws:device:read');
  });

  // protects against rest/token-audience
  test.each([
    ['another audience', { aud: 'https://other.example.com' }],
    ['a list of other audiences', { aud: ['https://other.example.com'] }],
    ['an audience that is null', { aud: null }],
    ['another issuer', { iss: 'https://other.example.com' }],
  ])('a token for %s is rejected', async (_, over) => {
    await expect(verify(env, { ...claims, ...over })).rejects.toMatchObject({ code: 'unauthenticated' });
  });
});

test('a scope for another API of the same user pool does not count', async () => {
  const token = { ...examples['Cognito'], scope: 'other/cws:device:read cws:device:write headset-cloud/' };
  expect((await verify(settings.get('Cognito') ?? {}, token)).scopes).toEqual(new Set());
});

describe('by default', () => {
  const env = { OIDC_ISSUER: 'https://id.example.com', OIDC_AUDIENCE: 'api' };
  const claims = { iss: env.OIDC_ISSUER, aud: 'api', exp: 1_800_000_300, client_id: 'c' };

  test.each([
    ['text in both claims', { scope: 'a  b', scp: 'c' }],
    ['lists in both claims', { scope: ['a', 1], scp: ['b', 'c', null] }],
    ['a text and a list', { scope: 'a', scp: ['b', 'c', ''] }],
  ])('scopes are read from %s', async (_, scopes) => {
    expect((await verify(env, { ...claims, ...scopes })).scopes).toEqual(new Set(['a', 'b', 'c']));
  });

  test.each([
    ['without an audience', { aud: undefined }],
    ['whose client is in another claim', { client_id: undefined, appid: 'c', cid: 'c', sub: 'c' }],
    ['whose first client claim is not a text', { client_id: 7, azp: 'c' }],
  ])('a token %s is rejected', async (_, over) => {
    await expect(verify(env, { ...claims, ...over })).rejects.toMatchObject({ code: 'unauthenticated' });
  });

  test('roles are not scopes', async () => {
    expect((await verify(env, { ...claims, roles: ['a'] })).scopes).toEqual(new Set());
  });
});
