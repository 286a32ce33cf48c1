import assert from 'node:assert/strict';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import { afterEach, beforeEach, describe, test } from 'node:test';
import { checkStrings } from '../../build/strings.ts';

describe('a missing string stops the build with file, line and reason', () => {
  let root: string;
  const write = (file: string, text: string) => {
    mkdirSync(dirname(join(root, file)), { recursive: true });
    writeFileSync(join(root, file), text);
  };
  beforeEach(() => {
    root = mkdtempSync(join(tmpdir(), 'site-strings-'));
    write(
      'src/strings/ja.ts',
      "export const ja = { nav: { back: '戻る', empty: '', to: (a: string) => a }, all: ['x'] };",
    );
    write('src/strings/api.ts', "export const apiWords = { scope: 'スコープ' };");
  });
  afterEach(() => rmSync(root, { recursive: true }));

  const whole =
    'ja.nav.back; ja.nav.to(x); ja.nav[key]; ja.all.map(f); apiWords.scope.length; import "./ja.none"';
  test('existing strings pass', async () => {
    write('src/theme/a.tsx', whole);
    await checkStrings(root);
  });
  for (const [code, name] of [
    ['ja.nav.forward', 'ja.nav.forward'],
    ['ja.none.back(x)', 'ja.none.back'],
    ['ja.nav.empty', 'ja.nav.empty'],
    ['<p>{apiWords.none}</p>', 'apiWords.none'],
  ] as const) {
    test(code, async () => {
      write('src/theme/a.tsx', `${whole}\n${code}\n`);
      await assert.rejects(checkStrings(root), {
        message: `src/theme/a.tsx:2: the string ${name} is missing in src/strings`,
      });
    });
  }
  test('the pages of the site have no missing strings', () =>
    checkStrings(resolve(import.meta.dirname, '../..')));
});
