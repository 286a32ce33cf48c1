import assert from 'node:assert/strict';
import { describe } from 'node:test';
import type { Page } from 'playwright-core';
import { hydrated } from '../support/browser.ts';
import { check, desktop, disturbed, phone } from '../support/check.ts';
import { changes, type TestProxy } from '../support/proxy.ts';

const sample = '/docs/components';
const introduction = ['about', 'preparation', 'authentication', 'tutorial', 'sora'];
const extension = ['events', 'deliveries', 'test-callbacks', 'event-types', 'device-statuses', 'hc'];
const guides = [
  ...introduction.map((one) => `/docs/introduction/${one}`),
  ...extension.map((one) => `/docs/extension/${one}`),
];

async function open(page: Page, route = sample): Promise<void> {
  await page.goto(route);
  await hydrated(page);
}

describe('sidebar', () => {
  // proves site/sidebar
  check('can be hidden and shown; the focus moves to the other button', desktop, async ({ page }) => {
    await open(page, guides[0]);
    await page.getByRole('button', { name: 'サイドバーを隠す' }).click();
    await page.locator('.doc-sidebar__scroll').waitFor({ state: 'hidden' });
    assert.equal(
      await page.evaluate(() => document.activeElement?.getAttribute('aria-label')),
      'サイドバーを開く',
    );
    await page.keyboard.press('Enter');
    await page.locator('.doc-sidebar__scroll').waitFor({ state: 'visible' });
    assert.equal(await page.evaluate(() => document.activeElement?.textContent), 'サイドバーを隠す');
  });
  check('on a reference, it marks the call that is being read', desktop, async ({ page }) => {
    const current = async (id: string) => {
      const link = page.locator(`.doc-sidebar [aria-current=location][href="#${id}"]`);
      await link.waitFor({ state: 'visible' });
      assert.equal(await page.locator('.doc-sidebar [aria-current=location]').count(), 1);
    };
    await open(page, '/apis/v1/cws_api#put-v1-applications-devices-commands.header.Idempotency-Key');
    await current('put-v1-applications-devices-commands');
    for (const id of ['get-v1-applications-sora-versions', 'put-v1-applications-devices-commands']) {
      await page.evaluate((to) => document.getElementById(to)?.scrollIntoView(), id);
      await current(id);
    }
  });
  // proves site/docs
  check('all guides have the same sidebar, with the current page marked', desktop, async ({ page }) => {
    for (const route of guides) {
      await open(page, route);
      const links = await page
        .locator('.doc-sidebar a')
        .evaluateAll((all) => all.map((one) => one.getAttribute('href')));
      assert.deepEqual(links, guides);
      assert.equal(await page.locator('.doc-sidebar [aria-current=page]').getAttribute('href'), route);
    }
  });
  // proves site/sidebar
  check('an active category opens, and opening one leaves the others open', desktop, async ({ page }) => {
    await open(page, '/apis/v1/cws_api');
    const toggles = page.locator('.doc-sidebar__toggle');
    await toggles.nth(0).click();
    await toggles.nth(1).click();
    const states = () => toggles.evaluateAll((all) => all.map((one) => one.getAttribute('aria-expanded')));
    assert.deepEqual((await states()).slice(0, 2), ['true', 'true']);
    const last = page.locator('.doc-sidebar__category').last().locator('a').first();
    const href = await last.getAttribute('href');
    await page.evaluate((hash) => window.location.assign(hash), href ?? '');
    await page.waitForFunction(
      () =>
        document
          .querySelector('.doc-sidebar__category:last-child .doc-sidebar__toggle')
          ?.getAttribute('aria-expanded') === 'true',
    );
    assert.deepEqual((await states()).slice(0, 2), ['true', 'true']);
    assert.equal(await page.locator('.doc-sidebar [aria-current=location]').getAttribute('href'), href);
  });
});

describe('table of contents', () => {
  // proves site/contents
  check(
    'contains levels 2 and 3 in order; the active heading follows the scroll position',
    desktop,
    async ({ page }) => {
      await open(page);
      const headings = await page
        .locator('.prose :is(h2, h3).heading')
        .evaluateAll((all) => all.map((one) => `#${one.id}`));
      const links = await page
        .locator('.toc a')
        .evaluateAll((all) => all.map((one) => one.getAttribute('href')));
      assert.deepEqual(links, headings);
      const current = () => page.locator('.toc [aria-current]').getAttribute('href');
      await page
        .locator('#code-long')
        .evaluate((node) => window.scrollTo(0, node.getBoundingClientRect().top + window.scrollY - 80));
      await page.waitForFunction(
        () => document.querySelector('.toc [aria-current]')?.getAttribute('href') === '#code-long',
      );
      await page.evaluate(() => window.scrollTo(0, document.body.scrollHeight));
      await page.waitForFunction(
        () => document.querySelector('.toc [aria-current]')?.getAttribute('href') === '#last',
      );
      assert.equal(await current(), '#last');
    },
  );
  check(
    'is collapsible at 996 pixels, and next to the text at 997 pixels',
    { viewport: { width: 996, height: 800 } },
    async ({ page }) => {
      await open(page);
      assert.equal(await page.locator('.toc').isVisible(), false);
      const box = page.locator('.toc-collapsible');
      await box.locator('summary').click();
      await box.locator('a').first().waitFor({ state: 'visible' });
      await page.setViewportSize({ width: 997, height: 800 });
      assert.equal(await page.locator('.toc').isVisible(), true);
      assert.equal(await box.isVisible(), false);
    },
  );
});

// proves site/breadcrumbs
// proves site/paginators
describe('breadcrumbs and paginator', () => {
  check(
    'are on all guides: home, section and the page as text, and the same as JSON-LD',
    desktop,
    async ({ page }) => {
      for (const route of guides) {
        await open(page, route);
        const crumbs = page.locator('.breadcrumbs li');
        assert.equal(await crumbs.first().locator('a').getAttribute('aria-label'), 'ホームページ');
        const last = crumbs.last().locator('[aria-current=page]');
        assert.equal(await last.evaluate((node) => node.tagName), 'SPAN');
        const json = JSON.parse(
          (await page.locator('script[type="application/ld+json"]').textContent()) ?? '',
        );
        assert.equal(json.itemListElement.at(-1).name, await last.textContent());
        assert.equal(new URL(json.itemListElement.at(-1).item).pathname, route);
        assert.deepEqual(
          json.itemListElement.map((one: { position: number }) => one.position),
          json.itemListElement.map((_: unknown, index: number) => index + 1),
        );
      }
    },
  );
  check('next and previous follow the sidebar, without unlisted pages', desktop, async ({ page }) => {
    await open(page, '/docs');
    const walked = [];
    for (
      let next = page.locator('.paginator__link--next');
      (await next.count()) === 1 && walked.length < 20;
    ) {
      const href = await next.getAttribute('href');
      await next.click();
      await page.waitForURL(`**${href}`);
      await page.waitForFunction(
        (path) =>
          document
            .querySelector('link[rel=canonical]')
            ?.getAttribute('href')
            ?.endsWith(path ?? ''),
        href,
      );
      walked.push(href);
    }
    assert.deepEqual(walked, guides);
    assert.equal(await page.locator('.paginator__link--previous').getAttribute('href'), guides.at(-2));
    await open(page, sample);
    assert.equal(await page.locator('.paginator').count(), 0);
  });
});

// proves site/code-blocks
describe('code blocks', () => {
  check(
    'copying shows a confirmation for one second',
    { ...desktop, permissions: ['clipboard-read', 'clipboard-write'] },
    async ({ page }) => {
      await open(page);
      const block = page.locator('.code', { hasText: 'success' }).first();
      await block.hover();
      const button = block.locator('[data-code=copy]');
      await button.click();
      await page.waitForFunction(
        () => document.querySelector('[data-state=done]')?.getAttribute('aria-label') === 'コピーしました',
      );
      assert.equal(await page.evaluate(() => navigator.clipboard.readText()), '{ "result": "success" }');
      await page.waitForFunction(() => !document.querySelector('[data-state=done]'));
      assert.equal(await button.getAttribute('aria-label'), 'クリップボードにコードをコピー');
    },
  );
  check(
    'a failed copy is shown and announced for two seconds',
    {
      ...desktop,
      before: `navigator.clipboard.writeText=()=>Promise.reject(new DOMException('no','NotAllowedError'))`,
    },
    async ({ page }) => {
      await open(page);
      // Pauses the clock, so that the speed of the machine does not matter.
      await page.clock.install({ time: 0 });
      await page.clock.pauseAt(1000);
      const block = page.locator('.code', { hasText: 'success' }).first();
      await block.hover();
      const button = block.locator('[data-code=copy]');
      await button.click();
      await page.locator('[data-state=failed]').waitFor();
      const words = 'コピーできませんでした';
      assert.equal(await button.getAttribute('aria-label'), words);
      const announcement = page.locator('[role=status]', { hasText: words });
      assert.equal(await announcement.count(), 1);
      const { shown, width } = await button.evaluate((node) => {
        const { content, width: wide } = getComputedStyle(node, '::after');
        return { shown: content, width: Number.parseFloat(wide) };
      });
      assert.equal(shown, `"${words}"`);
      assert.ok(width > 100, `${width}`);
      await page.clock.runFor(1900);
      assert.equal(await announcement.count(), 1);
      await page.clock.runFor(200);
      assert.equal(await announcement.count(), 0);
      assert.equal(await button.getAttribute('aria-label'), 'クリップボードにコードをコピー');
    },
  );
  check('wrapping is offered only if a line is too long', phone, async ({ page }) => {
    await open(page);
    const short = page.locator('.code', { hasText: 'success' }).first();
    const long = page.locator('.code', { hasText: 'quick brown' });
    await long.locator('[data-code=wrap]').waitFor({ state: 'visible' });
    assert.equal(await short.locator('[data-code=wrap]').isVisible(), false);
    const overflows = () => long.locator('pre').evaluate((pre) => pre.scrollWidth > pre.clientWidth);
    assert.equal(await overflows(), true);
    await long.locator('[data-code=wrap]').click();
    assert.equal(await overflows(), false);
    assert.equal(await long.locator('[data-code=wrap]').getAttribute('aria-pressed'), 'true');
    await long.locator('[data-code=wrap]').click();
    assert.equal(await overflows(), true);
  });
  check(
    'the chosen language applies to all blocks, also by keyboard and after a reload',
    desktop,
    async ({ page }) => {
      await open(page);
      const tabs = page.locator('[data-tabs]');
      const chosen = () =>
        tabs.evaluateAll((all) => all.map((one) => one.querySelector('[aria-selected=true]')?.textContent));
      assert.deepEqual(await chosen(), ['curl', 'curl']);
      await tabs.first().getByRole('tab', { name: 'curl' }).focus();
      await page.keyboard.press('ArrowRight');
      assert.deepEqual(await chosen(), ['Node.js', 'Node.js']);
      assert.equal(await tabs.nth(1).locator('.tabs__panel:visible').getAttribute('data-language'), 'js');
      await page.reload();
      await hydrated(page);
      assert.deepEqual(await chosen(), ['Node.js', 'Node.js']);
    },
  );
  check(
    'reader values fill all samples; ids are stored for the tab, secrets are not stored',
    desktop,
    async ({ page }) => {
      await open(page);
      await page.locator('[data-values] summary').click();
      await page.locator('input[name=applicationId]').fill('app-1');
      await page.locator('input[name=clientSecret]').fill('very-secret<b>');
      const shown = page.locator('[data-value=applicationId]').first();
      assert.equal(await shown.textContent(), 'app-1');
      for (const secret of await page.locator('[data-value=clientSecret]').all()) {
        assert.equal(await secret.textContent(), 'very-secret<b>');
        assert.equal(await secret.locator('b').count(), 0);
      }
      const stored = await page.evaluate(() =>
        JSON.stringify([{ ...localStorage }, { ...sessionStorage }, document.cookie]),
      );
      assert.doesNotMatch(stored, /very-secret/);
      await page.reload();
      await hydrated(page);
      assert.equal(await shown.textContent(), 'app-1');
      await page.locator('[data-values] summary').click();
      assert.equal(await page.locator('input[name=clientSecret]').inputValue(), '');
      await page.getByRole('button', { name: '入力を消す' }).click();
      assert.equal(await shown.textContent(), 'your-application-id');
    },
  );
  check('a deep link is hydrated without warnings and errors', desktop, async ({ page, pageErrors }) => {
    for (const route of [
      '/docs/components?a=1#tabs',
      '/apis/v1/cws_api#put-v1-applications-devices-commands',
    ]) {
      await open(page, route);
      await page.waitForLoadState('networkidle');
      assert.deepEqual(pageErrors, [], route);
    }
  });
  check('a hash into closed details opens them', desktop, async ({ page }) => {
    await open(page, `${sample}#inside-details`);
    assert.equal(await page.locator('#inside-details').isVisible(), true);
  });
});

describe('fragments', () => {
  check(
    'the first visit neither fetches nor hydrates the fragment; a navigation fetches it once',
    desktop,
    async ({ page, pageErrors }) => {
      const fetched: string[] = [];
      page.on('request', (request) => {
        if (request.url().includes('/fragments/')) fetched.push(request.url());
      });
      await open(page);
      assert.deepEqual(fetched, []);
      const hydratedInside = await page
        .locator('.prose')
        .evaluate(
          (node) =>
            [...node.querySelectorAll('*')].filter((one) =>
              Object.keys(one).some((key) => key.startsWith('__react')),
            ).length,
        );
      assert.equal(hydratedInside, 0);
      await page.locator('.prose a[href="/docs/introduction/about"]').first().click();
      await page.waitForURL('**/docs/introduction/about');
      await page.locator('h1', { hasText: '概要' }).waitFor();
      assert.ok((await page.locator('.prose > *').count()) > 0);
      assert.equal(fetched.length, 1);
      await page.goBack();
      await page.locator('#last').waitFor();
      assert.equal(fetched.length, 1);
      assert.deepEqual(pageErrors, []);
    },
  );
  check('a navigation is announced in Japanese', desktop, async ({ page }) => {
    await open(page, '/');
    await page.locator('main a[href="/docs/introduction/about"]').first().click();
    await page.waitForFunction(
      () => document.querySelector('[data-announcer]')?.textContent === '「概要」に移動しました',
    );
    assert.equal(await page.locator('#gatsby-announcer').getAttribute('aria-live'), 'off');
  });
});

// proves site/version-banners
describe('versions', () => {
  const versions = [
    {
      name: 'current',
      label: 'v1',
      state: 'latest',
      prefix: '',
      routes: ['/docs/introduction/about'],
      main: '/docs',
    },
    {
      name: 'old',
      label: 'v0',
      state: 'unmaintained',
      prefix: '/v0',
      routes: ['/docs/introduction/tutorial'],
      main: '/v0/docs',
    },
    {
      name: 'next',
      label: 'v2',
      state: 'unreleased',
      prefix: '/next',
      routes: ['/docs/introduction/about'],
      main: '/next/docs',
    },
  ];
  const asVersion = async (page: Page, proxy: TestProxy, version: string) => {
    proxy.on(
      /^\/page-data\/docs\/introduction\/about\/page-data\.json$/,
      changes<{ result: { pageContext: object } }>(({ result }) =>
        Object.assign(result.pageContext, { versions, version }),
      ),
    );
    await open(page, '/docs');
    await page.evaluate(() =>
      (window as unknown as { ___navigate(path: string): void }).___navigate('/docs/introduction/about'),
    );
    await page.locator('h1', { hasText: '概要' }).waitFor();
  };
  for (const [version, text] of [
    ['old', /これはバージョンv0の.*のドキュメントで現在はメンテナンスされていません。/],
    ['next', /これはリリース前のバージョンv2の.*のドキュメントです。/],
  ] as const) {
    disturbed(
      `a page of the version ${version} shows the state of the version and links to the latest version`,
      desktop,
      async ({ page, proxy }) => {
        await asVersion(page, proxy, version);
        const banner = page.locator('.version-banner');
        assert.match(await banner.innerText(), text);
        assert.match(
          await banner.innerText(),
          /最新のドキュメントは\s*最新バージョン\s*\(v1\) を見てください/,
        );
        assert.equal(await banner.locator('a').getAttribute('href'), '/docs/introduction/about');
      },
    );
  }
  disturbed(
    'the latest version has no banner; the dropdown leads to the same page, or to the version’s main page',
    desktop,
    async ({ page, proxy }) => {
      await asVersion(page, proxy, 'current');
      assert.equal(await page.locator('.version-banner').count(), 0);
      await page.locator('[data-dropdown=version] > button').click();
      const links = await page
        .locator('[data-dropdown=version] a')
        .evaluateAll((all) => all.map((one) => one.getAttribute('href')));
      assert.deepEqual(links, ['/docs/introduction/about', '/v0/docs', '/next/docs/introduction/about']);
    },
  );
});

// proves site/strings
check(
  'breadcrumbs, paginators, unlisted pages and code blocks have Japanese labels',
  { viewport: { width: 390, height: 800 } },
  async ({ page }) => {
    await open(page);
    const named = (selector: string) => page.locator(selector).first().getAttribute('aria-label');
    assert.equal(await named('.breadcrumbs'), 'パンくずリストのナビゲーション');
    assert.equal(await named('.breadcrumbs a'), 'ホームページ');
    assert.match(await page.locator('[data-notice=unlisted]').innerText(), /検索の対象外となり/);
    await page.getByRole('button', { name: 'クリップボードにコードをコピー' }).first().waitFor();
    await page.getByRole('button', { name: '折り返し' }).first().waitFor();
    await open(page, guides[1]);
    assert.equal(await named('.paginator'), 'ドキュメントページ');
    assert.match(await page.locator('.paginator').innerText(), /前へ[\s\S]*次へ/);
  },
);

// proves site/unlisted
describe('unlisted', () => {
  check('the page has a notice, is not indexed, and is in no navigation', desktop, async ({ page }) => {
    await open(page);
    assert.match(await page.locator('[data-notice=unlisted]').innerText(), /非公開のページ/);
    assert.equal(await page.locator('meta[name=robots]').getAttribute('content'), 'noindex, nofollow');
    assert.equal(await page.locator(`.doc-sidebar a[href="${sample}"]`).count(), 0);
    await open(page, '/docs');
    assert.equal(await page.locator('meta[name=robots]').count(), 0);
  });
});

describe('without JavaScript', () => {
  check('all text and all blocks can be read', { ...desktop, javaScriptEnabled: false }, async ({ page }) => {
    await page.goto(sample);
    for (const panel of await page.locator('.tabs__panel').all()) assert.equal(await panel.isVisible(), true);
    await page.locator('.prose details', { hasText: '閉じた部分' }).locator('summary').click();
    assert.equal(await page.locator('#inside-details').isVisible(), true);
    await page.goto('/apis/v1/cws_api');
    assert.equal(await page.locator('.doc-sidebar a').first().isVisible(), true);
    await page.goto('/information');
    assert.match((await page.locator('main').innerText()) ?? '', /JavaScript が必要です/);
    assert.equal(await page.locator('.information__loading').isVisible(), false);
  });
});
