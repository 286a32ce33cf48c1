import assert from 'node:assert/strict';
import { describe } from 'node:test';
import type { Page } from 'playwright-core';
import { hydrated } from '../support/browser.ts';
import { check, desktop, disturbed, phone } from '../support/check.ts';
import { fails, type Held, passes, replies, type TestProxy } from '../support/proxy.ts';

const about = '/docs/introduction/about';
const tutorial = '/docs/introduction/tutorial';
const sora = '/docs/introduction/sora';

const goTo = (page: Page, route: string) =>
  page.evaluate(
    (path) => (window as unknown as { ___navigate(path: string): void }).___navigate(path),
    route,
  );

/** Releases the held requests and waits until the page has processed the response. It may send one HEAD request. */
async function release(page: Page, held: Held): Promise<void> {
  await held.release();
  await page.waitForFunction(
    (path) => performance.getEntriesByType('resource').some(({ name }) => new RegExp(path).test(name)),
    held.path.source.replace('^', ''),
  );
  await page.evaluate(async () => {
    await fetch(window.location.href, { method: 'HEAD', cache: 'no-store' });
    await new Promise((done) => requestAnimationFrame(() => requestIdleCallback(done)));
  });
}

// proves site/loading
describe('a navigation that a later one replaces', () => {
  for (const [how, end] of [
    ['loads late', passes],
    ['fails late', fails],
  ] as const) {
    disturbed(
      `by a click: the earlier page ${how} and changes nothing`,
      desktop,
      async ({ page, pageErrors, proxy }) => {
        await page.goto(tutorial);
        await hydrated(page);
        const held = proxy.hold(/^\/fragments\/[^/]*sora/, end);
        await goTo(page, sora);
        await held.requested;
        await goTo(page, about);
        await page.locator('h1', { hasText: '概要' }).waitFor();
        await release(page, held);
        assert.equal(new URL(page.url()).pathname, about);
        assert.equal(await page.locator('h1').textContent(), '概要');
        assert.deepEqual(
          pageErrors.filter((one) => one.startsWith('warning')),
          [],
        );
        assert.equal(await page.locator('.load-failure').count(), 0);
      },
    );
    disturbed(`by Back: the earlier page ${how} and changes nothing`, desktop, async ({ page, proxy }) => {
      await page.goto(tutorial);
      await hydrated(page);
      await goTo(page, about);
      await page.locator('h1', { hasText: '概要' }).waitFor();
      const held = proxy.hold(/^\/fragments\/[^/]*sora/, end);
      await goTo(page, sora);
      await held.requested;
      await page.goBack();
      await page.locator('h1', { hasText: 'チュートリアル' }).waitFor();
      await release(page, held);
      assert.equal(new URL(page.url()).pathname, tutorial);
      assert.equal(await page.locator('h1').textContent(), 'チュートリアル');
    });
  }
  disturbed('leaves no spinner', desktop, async ({ page, proxy }) => {
    await page.clock.install();
    await page.goto(tutorial);
    await hydrated(page);
    const held = proxy.hold(/^\/fragments\/[^/]*sora/);
    await goTo(page, sora);
    await held.requested;
    await goTo(page, about);
    await page.locator('h1', { hasText: '概要' }).waitFor();
    // Gatsby reports a delay after one second.
    await page.clock.fastForward(1200);
    assert.equal(await page.locator('.loading .spinner').count(), 0);
    await held.release();
  });
  disturbed('a second click on the same link leads there', desktop, async ({ page, proxy }) => {
    await page.goto(tutorial);
    await hydrated(page);
    const held = proxy.hold(/^\/fragments\/[^/]*sora/);
    await goTo(page, sora);
    await held.requested;
    await goTo(page, sora);
    await release(page, held);
    await page.waitForURL(`**${sora}`);
  });
});

describe('a fragment with wrong content', () => {
  for (const [name, answer] of [
    ['empty', replies('')],
    ['changed', replies('<p>another</p>')],
    ['page of a captive portal', replies('<h2>Sign in to the network</h2>', { type: 'text/html' })],
  ] as const) {
    disturbed(
      `${name}: is not shown; the page is loaded in full`,
      desktop,
      async ({ page, pageErrors, proxy }) => {
        await page.goto(tutorial);
        await hydrated(page);
        proxy.on(/^\/fragments\/[^/]*about/, answer);
        await goTo(page, about);
        await page.locator('h1', { hasText: '概要' }).waitFor();
        await hydrated(page);
        assert.ok((await page.locator('.prose > *').count()) > 3);
        assert.equal(await page.getByText('Sign in to the network').count(), 0);
        assert.equal(pageErrors.filter((one) => one.startsWith('warning: The page')).length, 1);
      },
    );
  }
});

describe('without a network', () => {
  const down = (proxy: TestProxy) => proxy.on(/^\/(?:page-data\/)?docs\//, fails);
  disturbed(
    'a click stays on the page and shows a notice; Retry opens the new page',
    desktop,
    async ({ page, proxy }) => {
      await page.goto('/information');
      await hydrated(page);
      const up = down(proxy);
      await page.locator('.footer a[href="/docs/introduction/sora"]').click();
      const box = page.locator('.load-failure');
      await box.waitFor();
      assert.equal(new URL(page.url()).pathname, '/information');
      assert.match(await box.innerText(), /ページを読み込めませんでした/);
      assert.equal(await page.locator('.loading .spinner').count(), 0);
      // The network is still down: the notice stays.
      await box.getByRole('button', { name: /Retry/ }).click();
      await page.waitForFunction(() => document.querySelector('.load-failure')?.textContent !== '');
      assert.equal(new URL(page.url()).pathname, '/information');
      await box.getByRole('button', { name: /Retry/ }).waitFor();
      up();
      await box.getByRole('button', { name: /Retry/ }).click();
      await page.locator('h1', { hasText: '遠隔支援' }).waitFor();
      assert.equal(await box.count(), 0);
    },
  );
  disturbed('the notice can be closed', desktop, async ({ page, proxy }) => {
    await page.goto('/information');
    await hydrated(page);
    down(proxy);
    await page.locator('.footer a[href="/docs/introduction/sora"]').click();
    const box = page.locator('.load-failure');
    await box.getByRole('button', { name: '閉じる' }).click();
    assert.equal(await box.count(), 0);
  });
  disturbed('a later successful navigation removes the notice', desktop, async ({ page, proxy }) => {
    await page.goto('/information');
    await hydrated(page);
    down(proxy);
    await page.locator('.footer a[href="/docs/introduction/sora"]').click();
    await page.locator('.load-failure').waitFor();
    await goTo(page, '/');
    await page.locator('.hero').waitFor();
    assert.equal(await page.locator('.load-failure').count(), 0);
  });
});

describe('a page without its data or scripts', () => {
  for (const [name, answer] of [
    ['cut off', fails],
    ['answered with 503', replies('', { status: 503 })],
  ] as const) {
    for (const [device, options] of [
      ['desktop', desktop],
      ['phone', phone],
    ] as const) {
      disturbed(
        `${name}, ${device}: the notice covers nothing and can be closed`,
        options,
        async ({ page, proxy }) => {
          proxy.on(/^\/page-data\/docs\/introduction\/about\//, answer);
          await page.goto(about);
          const box = page.locator('.load-failure');
          await box.waitFor();
          // Measures all parts at once, because the layout may still change.
          const parts = ['.load-failure', '.navbar', 'h1', '.prose > :first-child'];
          const covered = await page.evaluate((selectors) => {
            const [notice, ...others] = selectors.map((selector) =>
              document.querySelector(selector)?.getBoundingClientRect(),
            );
            return selectors.slice(1).filter((_, i) => {
              const other = others[i];
              return !notice || !other || other.top < notice.bottom - 1;
            });
          }, parts);
          assert.deepEqual(covered, []);
          for (const english of await box.getByText(/An error occurred|Retry/).all())
            assert.equal(await english.evaluate((node) => node.closest('[lang=en]') !== null), true);
          await box.getByRole('button', { name: '閉じる' }).click();
          assert.equal(await box.count(), 0);
          assert.equal(await page.locator('h1', { hasText: '概要' }).isVisible(), true);
        },
      );
    }
  }
  for (const chunk of ['framework', 'app']) {
    disturbed(
      `without its script ${chunk}: shows a notice and offers to reload`,
      desktop,
      async ({ page, proxy }) => {
        const fix = proxy.on(new RegExp(`^/${chunk}-[^/]*\\.js$`), fails);
        await page.goto(about);
        const box = page.locator('.load-failure');
        await box.waitFor();
        assert.match(await box.innerText(), /一部の機能/);
        assert.equal(await page.locator('h1', { hasText: '概要' }).isVisible(), true);
        fix();
        await box.getByRole('button', { name: '再読み込み' }).click();
        await hydrated(page);
        assert.equal(await box.count(), 0);
      },
    );
  }
});

describe('a click before hydration', () => {
  const early = async (page: Page, proxy: TestProxy, route: string, click: () => Promise<void>) => {
    const held = proxy.hold(/^\/app-[^/]*\.js$/);
    await page.goto(route, { waitUntil: 'commit' });
    await held.requested;
    await page.locator('.footer').waitFor({ state: 'attached' });
    await click();
    await held.release();
    await hydrated(page);
  };
  disturbed('the theme changes', desktop, async ({ page, proxy }) => {
    await early(page, proxy, about, () => page.locator('[data-colour-toggle]').click());
    await page.waitForFunction(() => document.documentElement.dataset['theme'] === 'dark');
  });
  disturbed('the dropdown opens', desktop, async ({ page, proxy }) => {
    await early(page, proxy, about, () => page.locator('[data-dropdown=guides] > button').click());
    await page.locator('[data-dropdown=guides] > ul').waitFor({ state: 'visible' });
  });
  disturbed('a category of the sidebar opens', desktop, async ({ page, proxy }) => {
    const category = page.locator('.doc-sidebar__toggle').nth(2);
    await early(page, proxy, '/apis/v1/cws_api', () => category.click());
    await page.waitForFunction(
      () => document.querySelectorAll('.doc-sidebar__toggle')[2]?.getAttribute('aria-expanded') === 'true',
    );
  });
  disturbed('the sidebar is hidden', desktop, async ({ page, proxy }) => {
    await early(page, proxy, about, () => page.locator('.doc-sidebar__hide').click());
    await page.locator('.doc-sidebar__scroll').waitFor({ state: 'hidden' });
  });
  disturbed('the mobile menu opens', phone, async ({ page, proxy }) => {
    await early(page, proxy, about, () => page.locator('.navbar__menu').click());
    await page.locator('dialog.mobile-menu[open]').waitFor();
  });
  disturbed('a language is chosen', desktop, async ({ page, proxy }) => {
    await early(page, proxy, '/docs/components', () =>
      page.getByRole('tab', { name: 'Python' }).first().click(),
    );
    await page.locator('.tabs__panel[data-language=python]').first().waitFor({ state: 'visible' });
    assert.equal(await page.locator('.tabs__panel[data-language=bash]').first().isVisible(), false);
  });
  disturbed('a later click elsewhere cancels it', desktop, async ({ page, proxy }) => {
    await early(page, proxy, about, async () => {
      await page.locator('[data-dropdown=guides] > button').click();
      await page.locator('h1').click();
    });
    assert.equal(await page.locator('[data-dropdown=guides] > ul').isVisible(), false);
  });
  disturbed('an old click is not repeated', desktop, async ({ page, proxy }) => {
    await page.clock.install();
    await early(page, proxy, about, async () => {
      await page.locator('[data-colour-toggle]').click();
      await page.clock.fastForward(60_000);
    });
    assert.equal(await page.evaluate(() => document.documentElement.dataset['theme']), 'light');
  });
  check('a click after hydration is handled once', desktop, async ({ page }) => {
    await page.goto(about);
    await hydrated(page);
    await page.locator('[data-colour-toggle]').click();
    await page.evaluate(
      () => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done))),
    );
    assert.equal(await page.evaluate(() => document.documentElement.dataset['theme']), 'dark');
  });
});
