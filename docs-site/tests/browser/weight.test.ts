import assert from 'node:assert/strict';
import { existsSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import { gzipSync } from 'node:zlib';
import type { Page } from 'playwright-core';
import { hydrated } from '../support/browser.ts';
import { check, desktop } from '../support/check.ts';
import { dist } from '../support/site.ts';

const kilobyte = 1024;
const files = join(dist, 'site');

/** Transfer size of a file of the build. */
const sizeOf = (path: string, suffix: '.gz' | '.br'): number => {
  const file = join(files, path);
  return statSync(existsSync(file + suffix) ? file + suffix : file).size;
};

/** Paths that a first visit requests, including prefetched pages. */
async function requestedPaths(page: Page, route: string): Promise<{ scripts: string[]; all: string[] }> {
  const scripts = new Set<string>();
  const all = new Set<string>();
  page.on('request', (request) => {
    const { pathname } = new URL(request.url());
    all.add(pathname === route ? `${route === '/' ? '' : route}/index.html` : pathname);
    if (request.resourceType() === 'script') scripts.add(pathname);
  });
  await page.goto(route);
  await hydrated(page);
  await page.waitForLoadState('networkidle');
  return { scripts: [...scripts], all: [...all] };
}

const sum = (paths: readonly string[], suffix: '.gz' | '.br') =>
  paths.reduce((total, path) => total + sizeOf(path, suffix), 0);

describe('size', () => {
  for (const [route, maxScript, maxAll] of [
    ['/docs/introduction/tutorial', 100, 250],
    ['/apis/v1/cws_api', 130, 450],
  ] as const) {
    check(
      `${route}: at most ${maxScript} KB of script (gzip), ${maxAll} KB in total (br)`,
      desktop,
      async ({ page }) => {
        const { scripts, all } = await requestedPaths(page, route);
        const script = sum(scripts, '.gz') / kilobyte;
        const total = sum(all, '.br') / kilobyte;
        process.stdout.write(
          `    ${route}: ${script.toFixed(1)} KB of script (gzip), ${total.toFixed(1)} KB in total (br)\n`,
        );
        assert.ok(scripts.length >= 3, 'too few scripts were requested');
        assert.ok(script <= maxScript, `${script} KB of script`);
        assert.ok(total <= maxAll, `${total} KB in total`);
      },
    );
  }
  check('a page has at most 25,000 elements', desktop, async ({ page }) => {
    for (const route of ['/apis/v1/cws_api', '/apis/v1/cws_notification', '/docs/introduction/tutorial']) {
      await page.goto(route);
      const count = await page.evaluate(() => document.querySelectorAll('*').length);
      assert.ok(count > 50 && count <= 25_000, `${route}: ${count}`);
    }
  });
  test('search on first use is at most 150 KB (gzip), its engine included', () => {
    const index = gzipSync(readFileSync(join(files, 'search.json')), { level: 9 }).length;
    process.stdout.write(`    search.json: ${(index / kilobyte).toFixed(1)} KB (gzip)\n`);
    // The engine with MiniSearch has 9.5 KB.
    assert.ok(index > 1000 && index <= 140 * kilobyte, `${index}`);
  });
  test('the page data contain no document', () => {
    const data = readFileSync(join(files, 'page-data/apis/v1/cws_api/page-data.json'), 'utf8');
    assert.ok(data.length < 20 * kilobyte, `${data.length}`);
  });
});
