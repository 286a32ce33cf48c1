import assert from 'node:assert/strict';
import { describe } from 'node:test';
import type { Page } from 'playwright-core';
import { hydrated } from '../support/browser.ts';
import { check, desktop } from '../support/check.ts';

const about = '/docs/introduction/about';
const tutorial = '/docs/introduction/tutorial';
const hashes = ['#100%', '#%', '#%E0%A4%A'];

const isShown = async (page: Page, title: string) => {
  await page.locator('h1', { hasText: title }).waitFor();
  assert.equal(await page.locator('.navbar').isVisible(), true);
  assert.equal(await page.locator('.status--crash').count(), 0);
};

/** Adds a link to the text and clicks it. */
async function followLink(page: Page, href: string): Promise<void> {
  await page.evaluate((to) => {
    const link = document.createElement('a');
    link.href = to;
    link.textContent = 'link of the test';
    document.querySelector('.prose')?.prepend(link);
  }, href);
  await page.getByText('link of the test').click();
}

describe('a hash with an invalid encoding', () => {
  for (const hash of hashes) {
    check(`${hash}: the page opens`, desktop, async ({ page, pageErrors }) => {
      await page.goto(`${about}?a=%20b${hash}`);
      await hydrated(page);
      await isShown(page, '概要');
      assert.equal(new URL(page.url()).search, '?a=%20b');
      assert.deepEqual(pageErrors, []);
    });
    check(`${hash}: a link to the same page keeps the page`, desktop, async ({ page, pageErrors }) => {
      await page.goto(about);
      await hydrated(page);
      await followLink(page, hash);
      await page.waitForFunction(() => window.location.hash !== '');
      await isShown(page, '概要');
      await page.goBack();
      await page.waitForFunction(() => window.location.hash === '');
      await page.goForward();
      await page.waitForFunction(() => window.location.hash !== '');
      await isShown(page, '概要');
      assert.deepEqual(pageErrors, []);
    });
    check(`${hash}: a link to another page leads there`, desktop, async ({ page, pageErrors }) => {
      await page.goto(about);
      await hydrated(page);
      await followLink(page, tutorial + hash);
      await isShown(page, 'チュートリアル');
      assert.deepEqual(pageErrors, []);
    });
  }
  check('a valid hash is unchanged', desktop, async ({ page }) => {
    await page.goto(`${about}#%E6%A6%82%E8%A6%81`);
    await hydrated(page);
    await isShown(page, '概要');
    assert.equal(new URL(page.url()).hash, '#%E6%A6%82%E8%A6%81');
  });
});

// proves site/error-pages
check(
  'an error outside navigation and page shows the crash page; Back leaves it',
  {
    ...desktop,
    before:
      "const real=window.decodeURI;window.decodeURI=(text)=>{if(String(text).includes('throw-here'))throw new Error('thrown above');return real(text)}",
  },
  async ({ page }) => {
    await page.goto(about);
    await hydrated(page);
    await page.evaluate(() =>
      (window as unknown as { ___navigate(path: string): void }).___navigate(
        '/docs/introduction/tutorial#throw-here',
      ),
    );
    await page.locator('.status--crash', { hasText: 'This page crashed.' }).waitFor();
    await page.goBack();
    await isShown(page, '概要');
  },
);
