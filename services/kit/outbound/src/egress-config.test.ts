import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { readConfig } from '@headset-cloud/runtime/config.ts';
import { egressConfig, egressProxyOf } from './egress-config.ts';

const proxyOf = (env: Record<string, string>) => egressProxyOf(readConfig(egressConfig, env));

test('by default there is no proxy; exceptions alone do not enable one', () => {
  expect(proxyOf({})).toBeUndefined();
  expect(proxyOf({ EGRESS_NO_PROXY: 'example.org' })).toBeUndefined();
});

test('credentials may come from a file', () => {
  const folder = mkdtempSync(join(tmpdir(), 'egress-'));
  const file = join(folder, 'credentials');
  writeFileSync(file, 'cloud:p@ss: word\n');
  const proxy = proxyOf({
    EGRESS_PROXY: 'http://proxy.example.com:3128/',
    EGRESS_PROXY_CREDENTIALS_FILE: file,
    EGRESS_NO_PROXY: 'storage.internal',
  });
  rmSync(folder, { recursive: true });
  expect(proxy).toMatchObject({
    origin: 'http://proxy.example.com:3128',
    authorization: `Basic ${Buffer.from('cloud:p@ss: word').toString('base64')}`,
  });
  expect(proxy?.bypass('storage.internal')).toBe(true);
});

test.each([
  [{ EGRESS_PROXY: 'http://cloud:hidden@proxy.example.com:3128' }, 'EGRESS_PROXY'],
  [{ EGRESS_PROXY: 'socks5://proxy.example.com' }, 'EGRESS_PROXY'],
  [{ EGRESS_PROXY_CREDENTIALS: 'hidden' }, 'EGRESS_PROXY_CREDENTIALS'],
  [{ EGRESS_NO_PROXY: 'example.org:443' }, 'EGRESS_NO_PROXY'],
])('%j is refused, and no password is shown', (env, key) => {
  expect(() => proxyOf(env as Record<string, string>)).toThrow(`${key}: `);
  expect(() => proxyOf(env as Record<string, string>)).not.toThrow('hidden');
});
