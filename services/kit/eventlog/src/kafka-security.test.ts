import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { ConfigError, readConfig } from '@headset-cloud/runtime/config.ts';
import { createLogger } from '@headset-cloud/runtime/logger.ts';
import { createAuthority } from '@headset-cloud/runtime/testing/authority.ts';
import { kafkaSecurityConfig, openKafkaSecurity } from './kafka-security.ts';

/** Settings of Kafka's TLS and log-in; tests/contract has the connections. */

const logger = createLogger({ level: 'silent' });
let folder: string;
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'kafka-settings-'));
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const file = (name: string, content: string) => {
  const path = join(folder, name);
  writeFileSync(path, content);
  return path;
};
const open = (env: Record<string, string>) =>
  openKafkaSecurity(readConfig(kafkaSecurityConfig, env), { logger, env });
const problemsOf = (env: Record<string, string>) => {
  try {
    open(env).tls?.();
  } catch (error) {
    if (error instanceof ConfigError)
      return error.problems.map(({ setting, reason }) => `${setting}: ${reason}`);
    throw error;
  }
  return [];
};
const login = {
  KAFKA_SASL_MECHANISM: 'plain',
  KAFKA_SASL_USERNAME: 'cloud',
  KAFKA_SASL_PASSWORD: 'secret-text',
};

it('by default there is neither TLS nor authentication', () => {
  expect(open({})).toEqual({ tls: undefined, sasl: undefined });
});

it.each<[string, Record<string, string>, string, RegExp]>([
  [
    'a file without TLS',
    { KAFKA_TLS_CA_FILE: '/ca.crt' },
    'KAFKA_TLS',
    /KAFKA_TLS_CA_FILE is set, but KAFKA_TLS is off.*Example: KAFKA_TLS=on/,
  ],
  [
    'a certificate without its key',
    { KAFKA_TLS: 'on', KAFKA_TLS_CERT_FILE: '/tls.crt' },
    'KAFKA_TLS_KEY_FILE',
    /is missing/,
  ],
  [
    'a key without its certificate',
    { KAFKA_TLS: 'on', KAFKA_TLS_KEY_FILE: '/tls.key' },
    'KAFKA_TLS_CERT_FILE',
    /is missing/,
  ],
  [
    'a file that is not there',
    { KAFKA_TLS: 'on', KAFKA_TLS_CA_FILE: '/no/such/file' },
    'KAFKA_TLS_CA_FILE',
    /\/no\/such\/file cannot be read \(ENOENT/,
  ],
  [
    'a user without a mechanism',
    { KAFKA_SASL_USERNAME: 'cloud' },
    'KAFKA_SASL_MECHANISM',
    /KAFKA_SASL_USERNAME without a mechanism/,
  ],
  [
    'a mechanism without a password',
    { KAFKA_SASL_MECHANISM: 'plain', KAFKA_SASL_USERNAME: 'cloud' },
    'KAFKA_SASL_PASSWORD',
    /is missing, but KAFKA_SASL_MECHANISM is plain/,
  ],
  [
    'a readable password in production',
    { ...login, NODE_ENV: 'production' },
    'KAFKA_TLS',
    /the password would be readable on the network/,
  ],
])('%s is a wrong configuration that names the setting', (_, env, setting, reason) => {
  const problems = problemsOf(env);
  expect(problems).toHaveLength(1);
  expect(problems[0]).toMatch(new RegExp(`^${setting}: `));
  expect(problems[0]).toMatch(reason);
  expect(problems[0]).not.toContain('secret-text');
});

it('the error names a certificate that does not match its key or is invalid', async () => {
  const authority = await createAuthority('test');
  const [one, other] = [await authority.issue(['one']), await authority.issue(['other'])];
  const settings = {
    KAFKA_TLS: 'on',
    KAFKA_TLS_CERT_FILE: file('tls.crt', one.cert),
    KAFKA_TLS_KEY_FILE: file('tls.key', other.key),
  };
  expect(problemsOf(settings)).toEqual([expect.stringContaining('does not belong to KAFKA_TLS_CERT_FILE')]);
  file('tls.key', one.key);
  expect(problemsOf(settings)).toEqual([]);
  file('tls.crt', `${one.cert}\n${other.cert.slice(0, 200)}\n-----END CERTIFICATE-----\n`);
  expect(problemsOf(settings)).toEqual([expect.stringContaining('has a certificate that cannot be used')]);
  file('tls.crt', 'nothing');
  expect(problemsOf(settings)).toEqual([expect.stringContaining('tls.crt is not a certificate in PEM')]);
});
