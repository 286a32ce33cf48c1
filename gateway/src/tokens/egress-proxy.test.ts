import { createFetch } from '@headset-cloud/outbound/fetch.ts';
import { type ConnectProxy, startConnectProxy } from '@headset-cloud/outbound/testing/connect-proxy.ts';
import { afterEach, beforeEach, expect, test } from '@jest/globals';
import { pino } from 'pino';
import { startTestIssuer, type TestIssuer, type TestKey, testKey } from '../testing/keys.ts';
import { KeySet } from './key-set.ts';

let proxy: ConnectProxy;
let issuer: TestIssuer;
let key: TestKey;
beforeEach(async () => {
  proxy = await startConnectProxy();
  key = testKey('key-1', 'ES256');
  issuer = await startTestIssuer([key]);
});
afterEach(async () => {
  await proxy.close();
  await issuer.close();
});

/** The keys of an issuer whose name only the proxy can resolve, with the log lines. */
function behindProxy(connectTimeoutMs = 2500) {
  const { port } = new URL(issuer.url);
  const url = `http://id.example:${port}`;
  issuer.discoveryIssuer = url;
  issuer.jwksUri = `${url}/jwks`;
  proxy.route = (host) => (host === 'id.example' ? '127.0.0.1' : undefined);
  const lines: string[] = [];
  const logger = pino({ level: 'warn' }, { write: (line: string) => void lines.push(line) });
  const reach = { connectTimeoutMs, proxy: { origin: proxy.origin, bypass: () => false } };
  const keys = new KeySet({
    issuer: url,
    logger,
    clock: { now: () => Date.now() },
    fetch: createFetch(reach),
  });
  return { keys, lines, port };
}

test('discovery and keys are fetched through the proxy, which resolves the name', async () => {
  const { keys, port } = behindProxy();
  expect(await keys.find(key.kid, 'ES256')).toBeDefined();
  expect(new Set(proxy.asked)).toEqual(new Set([`id.example:${port}`]));
});

test.each([
  ['refuses the issuer', { conduct: { status: 403 } }, 'the egress proxy refuses this destination (403)'],
  [
    'demands other credentials',
    { demanded: 'Basic b3RoZXI=' },
    'the egress proxy demands other credentials (407)',
  ],
  ['never answers', { conduct: 'silent' }, 'the egress proxy opened no tunnel within'],
] as const)(
  'a proxy that %s makes tokens unavailable, and the log has the reason',
  async (_, trouble, reason) => {
    // Only a proxy that never answers needs a short time-out.
    const silent = 'conduct' in trouble && trouble.conduct === 'silent';
    const { keys, lines } = behindProxy(silent ? 200 : 2500);
    Object.assign(proxy, trouble);
    await expect(keys.find(key.kid, 'ES256')).rejects.toMatchObject({ code: 'unavailable' });
    expect(lines.join()).toContain("the issuer's keys cannot be fetched");
    expect(lines.join()).toContain(reason);
  },
);
