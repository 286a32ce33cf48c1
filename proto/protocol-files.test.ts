import { execFileSync } from 'node:child_process';
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { afterAll, beforeAll, expect, it } from '@jest/globals';

const root = resolve(import.meta.dirname, '..');
let folder: string;
let files: string[];

beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'headset-protocol-'));
  execFileSync('make', ['--no-print-directory', 'protocol'], { cwd: root });
  execFileSync('tar', ['-xf', join(root, 'dist/headset-protocol.tar'), '-C', folder]);
  files = readdirSync(folder, { recursive: true, encoding: 'utf8' }).filter((file) => /\.\w+$/.test(file));
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

it('the archive for device engineers has the protocol page and every file that its .proto files import', () => {
  expect(files).toContain('device_link/v1/README.md');
  const protos = files.filter((file) => file.endsWith('.proto'));
  const imported = protos.flatMap((file) =>
    [...readFileSync(join(folder, file), 'utf8').matchAll(/^import "(.+)";/gm)].map(([, name]) => name ?? ''),
  );
  expect(protos.length).toBeGreaterThan(1);
  expect(imported.filter((name) => !name.startsWith('google/protobuf/') && !protos.includes(name))).toEqual(
    [],
  );
});

it.each(['go_package', 'java_package', 'java_multiple_files', 'csharp_namespace', 'swift_prefix'])(
  'its .proto files name %s, so that generators need no option',
  (option) => {
    for (const file of files.filter((one) => one.endsWith('.proto')))
      expect(readFileSync(join(folder, file), 'utf8')).toMatch(new RegExp(`^option ${option} = `, 'm'));
  },
);
