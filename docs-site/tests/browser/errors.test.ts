import assert from 'node:assert/strict';
import { describe } from 'node:test';
import type { Page } from 'playwright-core';
import { hydrated } from '../support/browser.ts';
import { check, desktop, disturbed } from '../support/check.ts';
import { breaksOff, changes, fails, passes, replies, type TestProxy } from '../support/proxy.ts';

const about = '/docs/introduction/about';
const tutorial = '/docs/introduction/tutorial';

async function open(page: Page, route = '/'): Promise<void> {
  await page.goto(route);
  await hydrated(page);
}

interface PageData {
  readonly result: { readonly pageContext: Record<string, unknown> };
}

/** Changes the data of one page, so that rendering the page throws. */
const breakPage = (proxy: TestProxy, route: string, change: (context: Record<string, unknown>) => void) =>
  proxy.on(
    new RegExp(`^/page-data${route}/page-data\\.json$`),
    changes<PageData>(({ result }) => change(result.pageContext)),
  );

const goTo = (page: Page, route: string) =>
  page.evaluate(
    (path) => (window as unknown as { ___navigate(path: string): void }).___navigate(path),
    route,
  );

describe('not found', () => {
  // proves site/not-found
  check('has the status 404, a Japanese text and the navigation', desktop, async ({ page }) => {
    const response = await page.goto('/no/such/page');
    assert.equal(response?.status(), 404);
    await hydrated(page);
    const text = await page.locator('main').innerText();
    assert.match(text, /ページが見つかりません/);
    assert.match(text, /このページにリンクしているサイトの所有者にリンクが壊れていることを伝えてください。/);
    assert.equal(await page.locator('.navbar').isVisible(), true);
    assert.match(await page.title(), /ページが見つかりません/);
  });
  // proves site/html-suffix
  check('a suffix redirects to the plain path, with query and hash', desktop, async ({ page }) => {
    await page.goto(`${about}.html?a=1#b`);
    assert.equal(
      new URL(page.url()).pathname + new URL(page.url()).search + new URL(page.url()).hash,
      `${about}?a=1#b`,
    );
  });
  disturbed(
    'the not-found page redirects a path with a suffix, if another server does not',
    desktop,
    async ({ page, site, proxy }) => {
      const missing = await (await fetch(`${site.url}/404-is-no-page`)).text();
      proxy.on(/\/about\.html$/, replies(missing, { status: 404, type: 'text/html' }));
      await page.goto(`${about}.html`);
      await page.waitForURL((url) => url.pathname === about);
      await page.locator('h1', { hasText: '概要' }).waitFor();
    },
  );
});

// proves site/error-pages
describe('error boundary', () => {
  disturbed(
    'a page that throws keeps navigation and footer; “Try again” renders it',
    desktop,
    async ({ page, proxy }) => {
      breakPage(proxy, tutorial, (context) => {
        context['breadcrumbs'] = null;
      });
      await open(page);
      await goTo(page, tutorial);
      await page.getByText('An error occurred').waitFor();
      assert.match(await page.locator('main').innerText(), /エラーが発生しました/);
      assert.equal(await page.locator('.navbar').isVisible(), true);
      assert.equal(await page.locator('.footer').isVisible(), true);
      const again = page.getByRole('button', { name: /もう一度試してください.*Try again/ });
      await again.click();
      await page.getByText('An error occurred').waitFor();
      // Repairs the page data.
      await page.evaluate((path) => {
        const loader = (
          window as unknown as {
            ___loader: { loadPageSync(path: string): { json: { pageContext: Record<string, unknown> } } };
          }
        ).___loader;
        loader.loadPageSync(path).json.pageContext['breadcrumbs'] = [];
      }, tutorial);
      await again.click();
      await page.locator('h1', { hasText: 'チュートリアル' }).waitFor();
    },
  );
  disturbed('another page is rendered after one that threw', desktop, async ({ page, proxy }) => {
    breakPage(proxy, tutorial, (context) => {
      context['breadcrumbs'] = null;
    });
    await open(page);
    await goTo(page, tutorial);
    await page.getByText('An error occurred').waitFor();
    await goTo(page, about);
    await page.locator('h1', { hasText: '概要' }).waitFor();
  });
  disturbed(
    'if the navigation throws, the crash page is shown and offers to try again',
    desktop,
    async ({ page, proxy }) => {
      breakPage(proxy, tutorial, (context) => {
        context['sidebar'] = 5;
      });
      await open(page);
      await goTo(page, tutorial);
      await page.locator('.status--crash', { hasText: 'This page crashed.' }).waitFor();
      assert.equal(await page.getByRole('button', { name: /Try again/ }).count(), 1);
      assert.equal(await page.title(), 'このページはクラッシュしました。 (This page crashed.)');
      await page.goBack();
      await page.locator('.hero').waitFor();
      await page.waitForFunction(() => /^Headset Cloud/.test(document.title));
      await page.goForward();
      await page.locator('.status--crash').waitFor();
      await page.getByRole('link', { name: 'ホームへ戻る' }).click();
      await page.locator('.hero').waitFor();
      assert.match(await page.title(), /^Headset Cloud/);
    },
  );
});

// proves site/loading
describe('loading', () => {
  disturbed(
    'a page that fails once logs one warning and is loaded in full',
    desktop,
    async ({ page, pageErrors, proxy }) => {
      await open(page);
      let requests = 0;
      proxy.on(/^\/fragments\//, (one) => (requests++ === 0 ? breaksOff(one) : passes(one)));
      await goTo(page, about);
      await page.waitForURL(`**${about}`);
      await hydrated(page);
      await page.locator('h1', { hasText: '概要' }).waitFor();
      assert.equal(pageErrors.filter((one) => one.startsWith('warning:')).length, 1);
      assert.equal(requests, 1);
      assert.equal(await page.locator('.load-failure').count(), 0);
    },
  );
  disturbed(
    'a chunk that fails twice shows Retry and causes no reload loop; Retry loads the page',
    desktop,
    async ({ page, pageErrors, proxy }) => {
      await open(page);
      let loads = 0;
      page.on('framenavigated', (frame) => {
        if (frame === page.mainFrame()) loads++;
      });
      const fix = proxy.on(/^\/component---src-templates-document[^/]*\.js$/, fails);
      await goTo(page, about);
      const box = page.locator('.load-failure');
      await box.waitFor();
      assert.match(await box.innerText(), /An error occurred/);
      assert.equal(loads, 1);
      assert.equal(pageErrors.filter((one) => one.startsWith('warning: The page')).length, 1);
      // The text is in the HTML.
      assert.equal(await page.locator('h1', { hasText: '概要' }).isVisible(), true);
      fix();
      await box.getByRole('button', { name: /Retry/ }).click();
      await hydrated(page);
      assert.equal(await box.count(), 0);
    },
  );
  disturbed(
    'without a server, a navigation logs one warning and shows Retry; Retry loads the page',
    desktop,
    async ({ page, pageErrors, proxy }) => {
      await open(page);
      const recover = proxy.on(/^\//, fails);
      await goTo(page, about);
      const box = page.locator('.load-failure');
      await box.waitFor();
      const warnings = () => pageErrors.filter((one) => one.startsWith('warning: The page'));
      assert.equal(warnings().length, 1);
      assert.match(warnings()[0] ?? '', /the server cannot be reached/);
      assert.equal(await page.locator('.hero').isVisible(), true);
      await box.getByRole('button', { name: /Retry/ }).click();
      await box.locator('button:not([disabled])', { hasText: 'Retry' }).waitFor();
      assert.equal(warnings().length, 1);
      recover();
      await box.getByRole('button', { name: /Retry/ }).click();
      await page.waitForURL(`**${about}`);
      await page.locator('h1', { hasText: '概要' }).waitFor();
    },
  );
  disturbed('a slow page shows a spinner until it is loaded', desktop, async ({ page, proxy }) => {
    await open(page);
    const held = proxy.hold(/^\/fragments\//);
    await goTo(page, about);
    await page.locator('.loading .spinner').waitFor();
    assert.match((await page.locator('.loading').textContent()) ?? '', /読み込み中/);
    await held.release();
    await page.locator('h1', { hasText: '概要' }).waitFor();
    await page.locator('.loading .spinner').waitFor({ state: 'detached' });
  });
});

// proves site/prefetch
describe('prefetch', () => {
  const connections = [
    ['a normal connection (control)', { effectiveType: '4g', saveData: false }, true],
    ['slow-2g', { effectiveType: 'slow-2g', saveData: false }, false],
    ['2g', { effectiveType: '2g', saveData: false }, false],
    ['data saver', { effectiveType: '4g', saveData: true }, false],
  ] as const;
  for (const [name, connection, loads] of connections) {
    const before = `Object.defineProperty(navigator, 'connection', { configurable: true, value: ${JSON.stringify(connection)} })`;
    check(
      `${name}: pages are ${loads ? '' : 'not '}prefetched when a link is visible or hovered`,
      { ...desktop, before },
      async ({ page }) => {
        const prefetched: string[] = [];
        page.on('request', (request) => {
          const match = /\/page-data\/(docs|apis|information)/.exec(request.url());
          if (match) prefetched.push(request.url());
        });
        await open(page);
        await page.locator('.footer').scrollIntoViewIfNeeded();
        await page.locator('.footer a[href="/docs/introduction/sora"]').hover();
        await page.locator('main a[href="/apis/v1/cws_api"]').first().hover();
        if (loads) {
          await page.waitForFunction(() =>
            performance.getEntriesByType('resource').some((one) => one.name.includes('/page-data/')),
          );
          assert.ok(prefetched.length > 0);
          return;
        }
        // A prefetch would be requested before this navigation.
        await page.locator('.footer a[href="/information"]').click();
        await page.waitForURL('**/information');
        assert.deepEqual(
          prefetched.filter((one) => !one.includes('/information')),
          [],
        );
      },
    );
  }
});
