import { mkdtemp, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { freePorts } from '@headset-cloud/demo/stack/ports.ts';
import { manageProcess } from '@headset-cloud/demo/stack/process.ts';
import { KeySet } from '@headset-cloud/gateway/tokens/key-set.ts';
import { createTokenVerifier } from '@headset-cloud/gateway/tokens/verifier.ts';
import { systemClock } from '@headset-cloud/runtime/clock.ts';
import { waitFor } from '@headset-cloud/runtime/testing/wait.ts';
import { afterAll, afterEach, beforeAll, beforeEach, expect, jest, test } from '@jest/globals';
import { pino } from 'pino';
import { type Issuer, type IssuerClient, startIssuer } from './issuer.ts';

const audience = 'https://api.test';
const scopes = ['cws:application:read', 'cws:device:write'];
const lines: string[] = [];
const logger = pino({ level: 'trace' }, { write: (line: string) => lines.push(line) });
const printed: unknown[] = [];
const clients: IssuerClient[] = [{ clientId: 'client-1', clientSecret: 'secret-of-client-1' }];
let dataDir: string;
let issuer: Issuer;

beforeAll(() => {
  for (const method of ['log', 'info', 'warn', 'error'] as const) {
    jest.spyOn(console, method).mockImplementation((...args) => printed.push(args));
  }
});
afterAll(() => {
  jest.restoreAllMocks();
});
const start = (port = 0, publicUrl?: string) =>
  startIssuer({
    publicUrl,
    listen: { host: '127.0.0.1', port },
    clients: () => clients,
    audience,
    scopes,
    dataDir,
    logger,
  });
beforeEach(async () => {
  dataDir = await mkdtemp(join(tmpdir(), 'issuer-'));
  issuer = await start();
});
afterEach(async () => {
  await issuer.close();
  await rm(dataDir, { recursive: true });
});

const ask = (id: string, secret: string, form: Record<string, string> = {}) =>
  fetch(issuer.tokenUrl, {
    method: 'POST',
    headers: { authorization: `Basic ${Buffer.from(`${id}:${secret}`).toString('base64')}` },
    body: new URLSearchParams({ grant_type: 'client_credentials', ...form }),
  });
const tokenOf = async (response: Response) =>
  ((await response.json()) as { access_token: string }).access_token;
const verify = (token: string) => {
  const keys = new KeySet({ issuer: issuer.issuer, logger, clock: systemClock });
  return createTokenVerifier({ issuer: issuer.issuer, audience, keys, clock: systemClock }).verify(token);
};

test('a client gets a JWT for the gateway’s audience, with the requested scopes', async () => {
  const response = await ask('client-1', 'secret-of-client-1', { scope: scopes.join(' ') });
  expect(response.status).toBe(200);
  expect(await verify(await tokenOf(response))).toEqual({
    ...{ clientId: 'client-1', scopes: new Set(scopes), tokenId: expect.stringMatching(/./) },
  });
});

test('a wrong secret, an unknown client and an unknown resource are rejected', async () => {
  expect((await ask('client-1', 'wrong')).status).toBe(401);
  expect((await ask('nobody', 'secret-of-client-1')).status).toBe(401);
  expect((await ask('client-1', 'secret-of-client-1', { resource: 'https://other.test' })).status).toBe(400);
});

test('unknown scopes are not granted', async () => {
  const response = await ask('client-1', 'secret-of-client-1', { scope: 'cws:device:write admin' });
  if (response.ok)
    expect((await verify(await tokenOf(response))).scopes).toEqual(new Set(['cws:device:write']));
  else expect(response.status).toBe(400);
});

test('an added client needs no restart', async () => {
  clients.push({ clientId: 'client-2', clientSecret: 'secret-of-client-2' });
  expect((await ask('client-2', 'secret-of-client-2')).status).toBe(200);
});

test('tokens stay valid after a restart', async () => {
  const token = await tokenOf(await ask('client-1', 'secret-of-client-1', { scope: scopes[0] as string }));
  const { port } = new URL(issuer.issuer);
  await issuer.close();
  issuer = await start(Number(port));
  expect((await verify(token)).clientId).toBe('client-1');
});

test('only its owner can read the key file, and a damaged file is not replaced silently', async () => {
  const file = join(dataDir, 'issuer.json');
  expect((await stat(file)).mode & 0o777).toBe(0o600);
  const { signingKey } = JSON.parse(await readFile(file, 'utf8')) as { signingKey: { d: string } };
  const published = await (await fetch(`${issuer.issuer}/jwks`)).text();
  expect(published).not.toContain(signingKey.d);
  const [n, cookieKey] = ['n'.repeat(342), 'c'.repeat(43)];
  const publicHalf = JSON.stringify({ signingKey: { kty: 'RSA', n, e: 'AQAB' }, cookieKey });
  const noCookieKey = JSON.stringify({ signingKey, cookieKey: '' });
  for (const damaged of ['', '{', publicHalf, noCookieKey]) {
    await writeFile(file, damaged);
    await expect(start()).rejects.toThrow("does not hold the issuer's key");
  }
});

test('nothing secret is logged, and nothing is printed', async () => {
  await ask('client-1', 'secret-of-client-1');
  await ask('client-1', 'wrong-secret');
  expect(lines.join('\n')).not.toMatch(/secret-of|wrong-secret|eyJ/);
  expect(printed).toEqual([]);
});

test('with a public address, tokens and addresses use it, whatever address the caller used', async () => {
  await issuer.close();
  issuer = await start(0, 'https://id.example.com');
  const { listensAt } = issuer;
  const discovery = await (await fetch(`${listensAt}/.well-known/openid-configuration`)).json();
  expect(discovery).toMatchObject({
    issuer: 'https://id.example.com',
    jwks_uri: 'https://id.example.com/jwks',
    token_endpoint: 'https://id.example.com/token',
  });
  const response = await fetch(`${listensAt}/token`, {
    method: 'POST',
    headers: { authorization: `Basic ${Buffer.from('client-1:secret-of-client-1').toString('base64')}` },
    body: new URLSearchParams({ grant_type: 'client_credentials', scope: scopes.join(' ') }),
  });
  const token = await tokenOf(response);
  // A gateway that reaches the keys only inside the cluster.
  const keys = new KeySet({
    ...{ issuer: issuer.issuer, jwksUri: `${listensAt}/jwks`, logger, clock: systemClock },
  });
  const verifier = createTokenVerifier({ issuer: issuer.issuer, audience, keys, clock: systemClock });
  expect(await verifier.verify(token)).toMatchObject({ clientId: 'client-1' });
});

test('as a separate process it has an admin port with health, and ends on SIGTERM', async () => {
  const [listen, admin] = await freePorts(2);
  const alone = manageProcess({
    name: 'issuer',
    entry: 'services/standalone/src/issuer-main.ts',
    env: {
      DATA_DIR: dataDir,
      ISSUER_LISTEN: `127.0.0.1:${listen}`,
      ISSUER_PUBLIC_URL: 'https://id.example.com/',
      ADMIN_LISTEN: `127.0.0.1:${admin}`,
    },
    logFile: join(dataDir, 'issuer.log'),
  });
  const at = `http://127.0.0.1:${admin}`;
  alone.start();
  try {
    // A process starts slowly on a busy machine.
    const patience = { timeoutMs: 60_000 };
    const isReady = async () => (await fetch(`${at}/readyz`).catch(() => undefined))?.ok;
    await waitFor('it to be ready', isReady, patience);
    expect((await fetch(`${at}/livez`)).status).toBe(200);
    expect(await (await fetch(`${at}/metrics`)).text()).toContain('headset_build_info{');
    const discovery = await fetch(`http://127.0.0.1:${listen}/.well-known/openid-configuration`);
    expect(await discovery.json()).toMatchObject({ issuer: 'https://id.example.com' });
  } finally {
    expect(await alone.stop()).toBe(true);
  }
  expect(await alone.exited).toBe('0');
}, 90_000);
