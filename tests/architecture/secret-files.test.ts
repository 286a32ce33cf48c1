import { globSync, readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';

const root = resolve(import.meta.dirname, '../..');

/** The writer itself, and files that hold no secret. */
const allowed = ['services/kit/cli/src/secret-file.ts', 'services/kit/cli/src/pid-lock.ts'];

test('every file with a secret is written by services/kit/cli/src/secret-file.ts', () => {
  const files = globSync('{services/*/src,services/kit/*/src,gateway/src}/**/*.ts', { cwd: root }).filter(
    (file) => !file.endsWith('.test.ts') && !allowed.includes(file),
  );
  expect(files.length).toBeGreaterThan(100);
  const own = /\bwriteFile(Sync)?\([^;]*\bmode: 0o600|\bopen(Sync)?\([^)]*'wx', 0o600/;
  expect(files.filter((file) => own.test(readFileSync(join(root, file), 'utf8')))).toEqual([]);
});
