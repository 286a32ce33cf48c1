import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { noteSecret, noteSecretsIn, secretsInLogs } from './log-secrets.ts';

/** The check of the logs at the end of every run (global-teardown.ts). */
describe('secrets in the logs of a run', () => {
  let folder: string;
  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'headset-cloud-logs-'));
    mkdirSync(join(folder, 'logs'));
    writeFileSync(join(folder, 'secret.key'), 'the-key-of-the-platform-0123456789');
    noteSecret(folder, 'A0b1C2d3E4f5G6h7');
    noteSecretsIn(folder, [
      { mimiClientSecret: 'of-a-body-0123456' },
      { deep: { password: 'of-a-network-0123' } },
    ]);
  });
  afterEach(() => rmSync(folder, { recursive: true, force: true }));
  const found = (line: string) => {
    writeFileSync(join(folder, 'logs', 'gateway.log'), `{"message":"ready"}\n${line}\n`);
    return secretsInLogs(folder);
  };

  // protects against operators/run-secrets
  it.each([
    ['an issued key', '{"key":"A0b1C2d3E4f5G6h7"}', 'a secret of the run'],
    ['a secret of a body', '{"detail":"got of-a-body-0123456"}', 'a secret of the run'],
    ['a password deep in a body', '{"detail":"of-a-network-0123"}', 'a secret of the run'],
    ['the platform’s key', '{"env":"SECRET_KEY the-key-of-the-platform-0123456789"}', 'a secret of the run'],
    [
      'a token',
      `{"authorization":"Bearer ${['eyJhbGciOiJFUzI1NiJ9xx', 'eyJzdWIiOiIzNTk4ODEifQ', 'c2lnbmF0dXJlc2lnbmF0dXJl'].join('.')}"}`,
      'a signed token',
    ],
    ['a private key', '{"key":"-----BEGIN PRIVATE KEY-----"}', 'a private key'],
    [
      'a password in an address',
      '{"uri":"mongodb://cloud:pass-word@mongo:27017"}',
      'a password in an address',
    ],
    ['a body', String.raw`{"sent":"{\"launchType\":\"activity\"}"}`, 'a body'],
  ])('finds %s, and does not repeat it', async (_, line, what) => {
    expect(await found(line)).toEqual([`gateway.log:2: ${what}`]);
  });

  it('finds nothing in allowed log lines', async () => {
    expect(
      await found(
        '{"requestId":"0b1c","uri":"mongodb://mongo:27017/?replicaSet=rs0","setting":"deviceEvent"}',
      ),
    ).toEqual([]);
  });
});
