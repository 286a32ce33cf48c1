import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import {
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join, relative, resolve } from 'node:path';
import { afterEach, beforeEach, describe, test } from 'node:test';
import type { Source } from '../../build/check-links.ts';
import { gatsbyFiles, makeDist } from '../../build/dist.ts';
import { readSettings } from '../../build/settings.ts';

const module = resolve(import.meta.dirname, '../../build/dist.ts');
const settingsModule = resolve(import.meta.dirname, '../../build/settings.ts');

describe('a failed build keeps the last successful build', () => {
  let root: string;
  let dist: string;
  const sources = new Map<string, Source>();
  const page = (words: string) => `<html lang="ja"><body><h1>${words}</h1></body></html>`;
  const built = (files: Record<string, string>): string => {
    const folder = join(root, 'public');
    rmSync(folder, { recursive: true, force: true });
    for (const [name, content] of Object.entries(files)) {
      mkdirSync(dirname(join(folder, name)), { recursive: true });
      writeFileSync(join(folder, name), content);
    }
    return folder;
  };
  const files = (folder: string) =>
    readdirSync(folder, { recursive: true, withFileTypes: true })
      .filter((one) => one.isFile())
      .map((one) => `/${relative(folder, join(one.parentPath, one.name))}`)
      .sort();
  const make = (folder: string, files: string[]) =>
    makeDist({ folder, files, headScript: 'known()', sources }, dist, readSettings({}));
  const shown = () => readFileSync(join(dist, 'site/index.html'), 'utf8');

  beforeEach(async () => {
    root = mkdtempSync(join(tmpdir(), 'docs-site-dist-'));
    dist = join(root, 'dist');
    await make(built({ 'index.html': page('good') }), ['/index.html']);
  });
  afterEach(() => rmSync(root, { recursive: true, force: true }));

  test('only the files of this build are used, not files of earlier builds in the same folder', async () => {
    const folder = built({
      'index.html': page('new'),
      'docs.md': 'a Markdown version',
      'docs/removed.md': 'a page that is a draft now',
      'docs/removed/index.html': page('removed'),
      'announcements/removed.md': 'a removed announcement',
      'app-0123456789abcdef0123.js': '',
    });
    await make(folder, ['/index.html', '/docs.md']);
    assert.deepEqual(files(join(dist, 'site')), ['/docs.md', '/index.html']);
    assert.deepEqual(Object.keys(JSON.parse(readFileSync(join(dist, 'server.json'), 'utf8')).etags), [
      '/docs.md',
      '/index.html',
    ]);
  });

  test('a missing file of the build is reported', async () => {
    const folder = built({ 'index.html': page('new') });
    await assert.rejects(make(folder, ['/index.html', '/docs.md']), /\/docs\.md/);
    assert.equal(shown(), page('good'));
  });

  test('a build that was killed while changing the link does not block the next build', async () => {
    symlinkSync('dist-half', `${dist}.next`);
    await make(built({ 'index.html': page('better') }), ['/index.html']);
    assert.equal(shown(), page('better'));
  });

  test('a successful build replaces the link and keeps the previous build for a server that is reading it', async () => {
    const before = readlinkSync(dist);
    await make(built({ 'index.html': page('better') }), ['/index.html']);
    assert.equal(shown(), page('better'));
    assert.ok(readdirSync(root).includes(before));
  });

  test('a broken link', async () => {
    const folder = built({ 'index.html': `${page('bad')}<a href="/none">` });
    await assert.rejects(make(folder, ['/index.html']), /\/none: no such page or file/);
    assert.equal(shown(), page('good'));
  });

  for (const [what, html, target, reason] of [
    ['link', '<a href="/none">', '/none', 'no such page or file'],
    ['anchor', '<a href="/#none">', '/#none', 'no element with the id "none"'],
    ['anchor of the page itself', '<a href="#none">', '#none', 'no element with the id "none"'],
    ['image', '<img src="/none.png">', '/none.png', 'no such page or file'],
  ] as const) {
    test(`a broken ${what} of a guide is reported with file, line, page, target and reason`, async () => {
      sources.set('/a', { file: 'docs/a.mdx', text: `---\n---\n[x](${target})\n` });
      const folder = built({ 'index.html': page('new'), 'a/index.html': `${page('bad')}${html}` });
      await assert.rejects(make(folder, ['/index.html', '/a/index.html']), {
        message: `docs/a.mdx:3: /a → ${target}: ${reason}`,
      });
    });
  }

  test('an inline script that is not allowed', async () => {
    const folder = built({ 'index.html': `${page('bad')}<script>known()</script><script>alert(1)</script>` });
    await assert.rejects(make(folder, ['/index.html']), {
      message: '/: the inline script "alert(1)" is not allowed',
    });
    assert.equal(shown(), page('good'));
  });

  test('many problems are reported on one screen', async () => {
    const folder = built({ 'index.html': page('bad') + '<a href="/none">'.repeat(100) });
    await assert.rejects(make(folder, ['/index.html']), (error: Error) => {
      assert.match(error.message, /… and 80 more$/);
      assert.equal(error.message.split('\n').length, 21);
      return true;
    });
  });

  test('a full disk', () => {
    const folder = built({ 'index.html': page('new'), 'large.json': JSON.stringify('x'.repeat(200_000)) });
    // Limits the file size to 64 KiB: the write fails in the middle, as on a full disk.
    const script = `
      const { makeDist } = await import(${JSON.stringify(module)});
      const { readSettings } = await import(${JSON.stringify(settingsModule)});
      const built = { folder: ${JSON.stringify(folder)}, files: ['/index.html', '/large.json'], headScript: '', sources: new Map() };
      await makeDist(built, ${JSON.stringify(dist)}, readSettings({}));`;
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
    // The incomplete build is deleted.
    assert.equal(readdirSync(root).filter((name) => name.startsWith('dist-')).length, 1);
  });
});

test('the files of Gatsby are HTML and data of the pages, scripts of this build and the static folder', () => {
  const root = mkdtempSync(join(tmpdir(), 'docs-site-static-'));
  mkdirSync(join(root, 'images'));
  writeFileSync(join(root, 'images/a.svg'), '<svg/>');
  const scripts = [
    'app-1.js',
    'app-1.js.map',
    'framework-2.js.LICENSE.txt',
    'webpack.stats.json',
    'chunk-map.json',
  ];
  assert.deepEqual(gatsbyFiles(['/', '/docs/a', '/404.html'], scripts, root).sort(), [
    '/404.html',
    '/app-1.js',
    '/docs/a/index.html',
    '/images/a.svg',
    '/index.html',
    '/page-data/404.html/page-data.json',
    '/page-data/app-data.json',
    '/page-data/docs/a/page-data.json',
    '/page-data/index/page-data.json',
  ]);
  rmSync(root, { recursive: true });
});

test('no page uses GraphQL: results would stay in .cache after the build and need a request per page', () => {
  const folder = resolve(import.meta.dirname, '../../src');
  for (const file of readdirSync(folder, { recursive: true, encoding: 'utf8' })) {
    if (!/\.tsx?$/.test(file)) continue;
    assert.doesNotMatch(readFileSync(join(folder, file), 'utf8'), /graphql|StaticQuery/, file);
  }
});
