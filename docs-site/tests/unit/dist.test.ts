import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import {
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { afterEach, beforeEach, describe, test } from 'node:test';
import { makeDist } from '../../build/dist.ts';
import { readSettings } from '../../build/settings.ts';

const module = resolve(import.meta.dirname, '../../build/dist.ts');
const settingsModule = resolve(import.meta.dirname, '../../build/settings.ts');

describe('a build that fails leaves the last good one', () => {
  let root: string;
  let dist: string;
  const page = (words: string) => `<html lang="ja"><body><h1>${words}</h1></body></html>`;
  const built = (files: Record<string, string>): string => {
    const folder = join(root, 'public');
    rmSync(folder, { recursive: true, force: true });
    mkdirSync(folder);
    for (const [name, content] of Object.entries(files)) writeFileSync(join(folder, name), content);
    return folder;
  };
  const shown = () => readFileSync(join(dist, 'site/index.html'), 'utf8');

  beforeEach(async () => {
    root = mkdtempSync(join(tmpdir(), 'docs-site-dist-'));
    dist = join(root, 'dist');
    await makeDist(built({ 'index.html': page('good') }), dist, readSettings({}), []);
  });
  afterEach(() => rmSync(root, { recursive: true, force: true }));

  test('a good one takes its place, and what was before stays for servers that run', async () => {
    const before = readlinkSync(dist);
    await makeDist(built({ 'index.html': page('better') }), dist, readSettings({}), []);
    assert.equal(shown(), page('better'));
    assert.ok(readdirSync(root).includes(before));
  });

  test('a broken link', async () => {
    const folder = built({ 'index.html': `${page('bad')}<a href="/none">` });
    await assert.rejects(makeDist(folder, dist, readSettings({}), []), /\/none: no such page or file/);
    assert.equal(shown(), page('good'));
  });

  test('a disk that takes no more', () => {
    const folder = built({ 'index.html': page('new'), 'large.json': JSON.stringify('x'.repeat(200_000)) });
    // Files of this process may not grow beyond 64 KiB: the write fails in the middle, as on a full disk.
    const script = `
      const { makeDist } = await import(${JSON.stringify(module)});
      const { readSettings } = await import(${JSON.stringify(settingsModule)});
      await makeDist(${JSON.stringify(folder)}, ${JSON.stringify(dist)}, readSettings({}), []);`;
    const run = () =>
      execFileSync(
        'bash',
        ['-c', 'ulimit -f 64; exec "$0" --input-type=module -e "$1"', process.execPath, script],
        {
          stdio: 'pipe',
          encoding: 'utf8',
        },
      );
    assert.throws(run, /EFBIG|SIGXFSZ/);
    assert.equal(shown(), page('good'));
    // Nor does a half-made one stay.
    assert.equal(readdirSync(root).filter((name) => name.startsWith('dist-')).length, 1);
  });
});
