import { execFile } from 'node:child_process';
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { application, openCloud } from '../testing/cloud.ts';
import { makePackage } from './make.ts';

const execute = promisify(execFile);
let folder: string;
let hc: string;
beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'hc-package-test-'));
  const archive = await makePackage(join(folder, 'made'));
  // Installs it like a user without this repository and without a registry.
  await execute('npm', ['install', '--offline', '--prefix', join(folder, 'home'), archive], { cwd: folder });
  hc = join(folder, 'home/node_modules/.bin/hc');
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

test('it runs as hc, and prints its version and help', async () => {
  const { version } = JSON.parse(readFileSync(join(import.meta.dirname, '../../package.json'), 'utf8'));
  expect((await execute(hc, ['--version'])).stdout).toBe(`${version}\n`);
  expect((await execute(hc, ['listen', '--help'])).stdout).toContain('--forward-to <url>');
});

test('it calls the API', async () => {
  const cloud = await openCloud(() => ({
    body: {
      events: [
        {
          ...{ webhookId: 'n-1', type: 'notify-boot', destination: 'deviceEvent', deviceId: null },
          ...{ createdAt: '2026-01-01T00:00:00.000Z', body: '{}' },
        },
      ],
      ...{ cursor: 'c', more: false },
    },
  }));
  const { stdout } = await execute(hc, ['events'], { env: { ...process.env, ...cloud.env } });
  expect(stdout).toContain('n-1');
  expect(cloud.asked.at(-1)?.url).toContain(`/v1/applications/${application}/events`);
  await cloud.close();
});

test('its completion calls the package, not this repository', async () => {
  const { stdout: script } = await execute(hc, ['completion', 'bash']);
  expect(script).toContain(join(folder, 'home/node_modules/@headset-cloud/hc/dist/hc.mjs'));
  const line = `${script}\nCOMP_WORDS=(hc del); COMP_CWORD=1; _hc_completion; echo "\${COMPREPLY[@]}"`;
  expect((await execute('bash', ['-c', line])).stdout).toBe('deliveries\n');
});

test('it needs no other package, and has the licences of its parts', () => {
  const installed = join(folder, 'home/node_modules');
  expect(readdirSync(installed).filter((name) => !name.startsWith('.'))).toEqual(['@headset-cloud']);
  const its = join(installed, '@headset-cloud/hc');
  expect(readFileSync(join(its, 'LICENSES-OF-PARTS.txt'), 'utf8')).toMatch(/^commander\n\n.*MIT/s);
  for (const name of readdirSync(join(its, 'dist'))) {
    expect(readFileSync(join(its, 'dist', name), 'utf8')).not.toContain(
      join(import.meta.dirname, '../../../..'),
    );
  }
});
