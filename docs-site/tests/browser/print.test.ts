import assert from 'node:assert/strict';
import { describe } from 'node:test';
import type { Page } from 'playwright-core';
import { hydrated } from '../support/browser.ts';
import { check, disturbed } from '../support/check.ts';
import { fails } from '../support/proxy.ts';

/** Width of A4 without margins, at 96 dots per inch. */
const paper = { viewport: { width: 688, height: 1009 } } as const;
const dark = { ...paper, before: () => localStorage.setItem('theme', 'dark') } as const;

async function print(page: Page, route: string): Promise<void> {
  await page.goto(route);
  await hydrated(page);
  await page.emulateMedia({ media: 'print' });
}

const shown = (page: Page, selector: string) =>
  page.locator(selector).evaluateAll((all) => all.filter((one) => one.checkVisibility()).length);

describe('print', () => {
  for (const route of ['/docs/introduction/sora', '/apis/v1/cws_presigned_url', '/']) {
    check(`${route} has no navigation and no control`, paper, async ({ page }) => {
      await print(page, route);
      for (const part of ['nav', 'footer', 'button', 'form', 'input', '.skip', '.toc', '.doc-sidebar'])
        assert.equal(await shown(page, part), 0, part);
      assert.ok((await shown(page, 'h1')) === 1);
    });
  }

  check('a guide shows every language of a sample, with its name', paper, async ({ page }) => {
    await print(page, '/docs/introduction/sora');
    const panels = await page.locator('.tabs__panel').evaluateAll((all) =>
      all.map((one) => ({
        name: one.querySelector('.tabs__name')?.checkVisibility() && one.textContent?.slice(0, 4),
        height: one.querySelector('code')?.getBoundingClientRect().height ?? 0,
      })),
    );
    assert.ok(panels.length >= 18 && panels.length % 3 === 0, String(panels.length));
    assert.deepEqual([...new Set(panels.map(({ name }) => name))], ['curl', 'Node', 'Pyth']);
    assert.ok(panels.every(({ height }) => height > 10));
  });

  check('a reference shows only the chosen language of a sample', paper, async ({ page }) => {
    await page.goto('/apis/v1/cws_api');
    await page.evaluate(() => localStorage.setItem('code-language', 'python'));
    await print(page, '/apis/v1/cws_api');
    const languages = await page.locator('.tabs').evaluateAll((all) =>
      all.map((one) =>
        [...one.querySelectorAll('.tabs__panel')]
          .filter((panel) => panel.checkVisibility())
          .map((panel) => panel.querySelector<HTMLElement>('.tabs__name')?.innerText)
          .join(),
      ),
    );
    assert.ok(languages.length > 30, String(languages.length));
    assert.deepEqual([...new Set(languages)], ['Python']);
  });

  disturbed(
    'a reference shows the first language before its scripts are loaded',
    paper,
    async ({ page, proxy }) => {
      proxy.on(/\.js$/, fails);
      await page.goto('/apis/v1/cws_api');
      await page.emulateMedia({ media: 'print' });
      const tabs = await page.locator('.tabs').count();
      assert.ok(tabs > 0);
      assert.equal(await shown(page, '.tabs__panel:nth-of-type(2)'), tabs);
      assert.equal(await shown(page, '.tabs__panel'), tabs);
    },
  );

  check('the largest reference has less than 80 pages', paper, async ({ page }) => {
    await print(page, '/apis/v1/cws_api');
    const pdf = (await page.pdf({ preferCSSPageSize: true, format: 'A4' })).toString('latin1');
    const sheets = pdf.match(/\/Type\s*\/Page\b/g)?.length ?? 0;
    assert.ok(sheets > 20 && sheets < 80, String(sheets));
  });

  disturbed('a guide shows every language before its scripts are loaded', paper, async ({ page, proxy }) => {
    proxy.on(/\.js$/, fails);
    await page.goto('/docs/introduction/sora');
    await page.emulateMedia({ media: 'print' });
    assert.equal(await shown(page, '.tabs__panel'), await page.locator('.tabs__panel').count());
    assert.equal(await shown(page, '.tabs__list'), 0);
  });

  check(
    'details are open: in guides, and all fields and error messages of references',
    paper,
    async ({ page }) => {
      await print(page, '/docs/components');
      assert.ok(((await page.locator('#inside-details').boundingBox())?.height ?? 0) > 0);
      await print(page, '/apis/v1/cws_api');
      const hidden = await page
        .locator('.api-field__head, .api-snippet')
        .evaluateAll((all) => all.filter((one) => one.getBoundingClientRect().height === 0).length);
      assert.equal(hidden, 0);
      assert.ok((await page.locator('.api-snippet').count()) > 300);
    },
  );

  for (const route of [
    '/docs/introduction/preparation',
    '/docs/components',
    '/apis/v1/cws_api',
    '/apis/v1/cws_notification',
    '/apis/v1/cws_presigned_url',
  ]) {
    check(`${route}: no code, table or address is cut at the edge of the page`, paper, async ({ page }) => {
      await print(page, route);
      const { seen, cut } = await page
        .locator('.prose pre, .prose .table, .prose p, .prose li')
        .evaluateAll((all) => {
          const visible = all.filter((one) => one.checkVisibility());
          const wide = visible.filter((one) => one.scrollWidth > one.clientWidth + 1);
          return {
            seen: visible.length,
            cut: wide.map((one) => `${one.className} ${one.textContent?.slice(0, 40)}`),
          };
        });
      assert.ok(seen > 20, String(seen));
      assert.deepEqual(cut, []);
      const width = await page.evaluate(() => document.documentElement.scrollWidth);
      assert.ok(width <= paper.viewport.width, String(width));
    });
  }

  check('a link shows its address, except for links within the page', paper, async ({ page }) => {
    await print(page, '/docs/introduction/sora');
    const links = await page
      .locator('.prose :not(td) > a[href]')
      .evaluateAll((all) =>
        all
          .filter((one) => one.checkVisibility())
          .map((one) => [one.getAttribute('href') ?? '', getComputedStyle(one, '::after').content] as const),
      );
    assert.ok(links.length > 5, String(links.length));
    for (const [href, after] of links) {
      if (href.startsWith('#')) assert.ok(!after.includes('#'), href);
      else assert.equal(after, `" (" "${href}" ")"`.replaceAll('" "', ''), href);
    }
  });

  check('the dark theme is not printed', dark, async ({ page }) => {
    await page.goto('/docs/introduction/about');
    await hydrated(page);
    const colours = () =>
      page.evaluate(() => {
        const style = getComputedStyle(document.body);
        return [style.backgroundColor, style.color, getComputedStyle(document.documentElement).colorScheme];
      });
    const [background] = await colours();
    assert.equal(background, 'rgb(20, 23, 28)');
    await page.emulateMedia({ media: 'print' });
    assert.deepEqual(await colours(), ['rgb(255, 255, 255)', 'rgb(27, 36, 48)', 'light']);
  });

  check(
    'short code, rows and boxes stay on one page, and long code may be split',
    paper,
    async ({ page }) => {
      await print(page, '/docs/introduction/sora');
      const inside = (selector: string) =>
        page
          .locator(selector)
          .evaluateAll((all) => [...new Set(all.map((one) => getComputedStyle(one).breakInside))]);
      assert.deepEqual(await inside('.code:not(.code--long), tr, .admonition'), ['avoid']);
      assert.deepEqual(await inside('.code--long'), ['auto']);
      const after = await page
        .locator('.prose h2, .prose h3, .tabs__name, .code__title')
        .evaluateAll((all) => [...new Set(all.map((one) => getComputedStyle(one).breakAfter))]);
      assert.deepEqual(after, ['avoid']);
      // Browsers do not split scrolling boxes between pages, but cut them off.
      const overflows = await page
        .locator('.code, .code__pre, .table')
        .evaluateAll((all) => [...new Set(all.map((one) => getComputedStyle(one).overflow))]);
      assert.deepEqual(overflows, ['visible']);
    },
  );
});
