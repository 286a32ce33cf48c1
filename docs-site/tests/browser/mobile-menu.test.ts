import assert from 'node:assert/strict';
import { describe } from 'node:test';
import type { Page } from 'playwright-core';
import { hydrated } from '../support/browser.ts';
import { check, phone } from '../support/check.ts';

const about = '/docs/introduction/about';
const dialog = (page: Page) => page.locator('dialog.mobile-menu');
const panel = (page: Page, name: string) => page.locator(`.mobile-menu__panel[data-name=${name}]`);
const inert = (page: Page, name: string) => panel(page, name).evaluate((node) => (node as HTMLElement).inert);

async function open(page: Page, route = about): Promise<void> {
  await page.goto(route);
  await hydrated(page);
  await page.locator('.navbar__menu').click();
  await page.locator('.mobile-menu__body').waitFor();
}
async function isClosed(page: Page): Promise<void> {
  await dialog(page).waitFor({ state: 'hidden' });
  assert.equal(await page.evaluate(() => document.body.classList.contains('locked')), false);
}

// proves site/navigation
describe('mobile menu', () => {
  check(
    'on a document, the docs panel is shown and the main panel is inert; the buttons switch between them',
    phone,
    async ({ page }) => {
      await open(page);
      assert.deepEqual([await inert(page, 'docs'), await inert(page, 'main')], [false, true]);
      await page.getByRole('button', { name: '← メインメニューに戻る' }).click();
      assert.deepEqual([await inert(page, 'docs'), await inert(page, 'main')], [true, false]);
      await page.getByRole('button', { name: /ドキュメントのメニュー/ }).click();
      assert.deepEqual([await inert(page, 'docs'), await inert(page, 'main')], [false, true]);
    },
  );
  check('the home page has the main panel only', phone, async ({ page }) => {
    await open(page, '/');
    assert.equal(await inert(page, 'main'), false);
    assert.equal(await panel(page, 'docs').count(), 0);
  });
  check('the page behind does not scroll', phone, async ({ page }) => {
    await open(page);
    assert.equal(await page.evaluate(() => getComputedStyle(document.body).overflowY), 'hidden');
  });
  check('a touch on the backdrop closes it and stays on the page', phone, async ({ page }) => {
    await open(page);
    await page.mouse.click(380, 500);
    await isClosed(page);
    assert.equal(new URL(page.url()).pathname, about);
  });
  check('Escape closes it and returns the focus', phone, async ({ page }) => {
    await open(page);
    await page.keyboard.press('Escape');
    await isClosed(page);
    assert.equal(
      await page.locator('.navbar__menu').evaluate((node) => node === document.activeElement),
      true,
    );
  });
  check('Back closes it and stays on the page; a second Back leaves the page', phone, async ({ page }) => {
    await page.goto('/');
    await page.goto(about);
    await hydrated(page);
    await page.locator('.navbar__menu').click();
    await page.locator('.mobile-menu__body').waitFor();
    await page.evaluate(() => window.history.back());
    await isClosed(page);
    assert.equal(new URL(page.url()).pathname, about);
    await page.goBack();
    await page.waitForURL((url) => url.pathname === '/');
  });
  check('closing with the button leaves no history entry', phone, async ({ page }) => {
    await page.goto('/');
    await open(page);
    await page.getByRole('button', { name: 'ナビゲーションバーを閉じる' }).click();
    await isClosed(page);
    await page.goBack();
    await page.waitForURL((url) => url.pathname === '/');
  });
  check('a window that grows to desktop width closes it', phone, async ({ page }) => {
    await open(page);
    await page.setViewportSize({ width: 997, height: 800 });
    await isClosed(page);
  });
  check(
    'a link leads to its page and closes it; Back leads to the previous page',
    phone,
    async ({ page }) => {
      await open(page);
      await panel(page, 'docs').getByRole('link', { name: 'チュートリアル' }).click();
      await page.waitForURL('**/docs/introduction/tutorial');
      await isClosed(page);
      await page.goBack();
      await page.waitForURL(`**${about}`);
    },
  );
  check('it contains versions and languages', phone, async ({ page }) => {
    await open(page, '/');
    assert.equal(
      await panel(page, 'main').getByRole('link', { name: '日本語' }).getAttribute('aria-current'),
      'true',
    );
    assert.equal(await panel(page, 'main').getByRole('link', { name: 'v1' }).count(), 1);
  });
});
