import { mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { ConfigError, readConfig } from '@headset-cloud/runtime/config.ts';
import { standaloneConfig } from './config.ts';
import { embeddedDefaults, runPlatform } from './platform.ts';

/** The settings that the start rejects. */
async function refused(env: Record<string, string>): Promise<readonly string[]> {
  const error = await runPlatform(env).then(
    () => undefined,
    (reason: unknown) => reason,
  );
  if (!(error instanceof ConfigError)) throw new Error('the start was not refused', { cause: error });
  return error.problems.map(({ setting }) => setting);
}

const stores = { MONGODB_URI: 'mongodb://127.0.0.1:1/', KAFKA_BROKERS: '127.0.0.1:1' };
const secret = { SECRET_KEY: '0123456789abcdef0123456789abcdef' };

describe('in production', () => {
  const env = { NODE_ENV: 'production', OIDC_ISSUER: 'http://id.example.com', DATA_DIR: '/nonexistent' };

  test('addresses of this machine are rejected for callbacks and recordings', async () => {
    const local = { NOTIFIER_ALLOW_ADDRESSES: '127.0.0.1/32', COMMUNICATION_ALLOW_ADDRESSES: '::1/128' };
    expect([...new Set(await refused({ ...env, ...local }))].sort()).toEqual([
      'COMMUNICATION_ALLOW_ADDRESSES',
      'NOTIFIER_ALLOW_ADDRESSES',
      'OIDC_ISSUER',
    ]);
  });

  test('the embedded defaults allow none', async () => {
    expect(await refused(env)).toEqual(['OIDC_ISSUER']);
  });
});

test('an IPv6 listen address of the issuer gives a valid default of OIDC_ISSUER', () => {
  const config = readConfig(standaloneConfig, { ISSUER_LISTEN: '[::1]:8081' });
  expect(embeddedDefaults(config, {})['OIDC_ISSUER']).toBe('http://[::1]:8081');
});

describe('one process on MongoDB and Kafka', () => {
  test.each([
    ['MongoDB without Kafka', { ...secret, MONGODB_URI: stores.MONGODB_URI }, 'KAFKA_BROKERS'],
    ['Kafka without MongoDB', { ...secret, KAFKA_BROKERS: stores.KAFKA_BROKERS }, 'MONGODB_URI'],
    ['no SECRET_KEY, which the embedded default draws', stores, 'SECRET_KEY'],
    ['no issuer, which the embedded default has built in', { ...stores, ...secret }, 'OIDC_ISSUER'],
    [
      'no certificate where one is required',
      {
        ...{ ...stores, ...secret, OIDC_ISSUER: 'https://id.example.com', OIDC_AUDIENCE: 'api' },
        RPC_TLS_MODE: 'required',
      },
      'RPC_TLS_CERT_FILE',
    ],
  ])('refuses %s', async (_, env, setting) => {
    expect(await refused(env)).toContain(setting);
  });
});

// protects against stores/empty-key
test.each(['', 'short'])(
  'a secret.key with %j stops the embedded default before it opens its data',
  async (key) => {
    const folder = mkdtempSync(join(tmpdir(), 'platform-'));
    try {
      writeFileSync(join(folder, 'secret.key'), key);
      expect(await refused({ DATA_DIR: folder })).toEqual(['SECRET_KEY']);
      expect(readdirSync(folder)).toEqual(['secret.key']);
    } finally {
      rmSync(folder, { recursive: true });
    }
  },
);
