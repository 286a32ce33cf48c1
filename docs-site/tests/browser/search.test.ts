import assert from 'node:assert/strict';
import { describe } from 'node:test';
import type { Page } from 'playwright-core';
import { hydrated } from '../support/browser.ts';
import { check, desktop, disturbed, phone } from '../support/check.ts';
import { fails, passes } from '../support/proxy.ts';
import { queries } from '../unit/search-queries.ts';

const input = (page: Page) => page.locator('.search__input');
const status = (page: Page) => page.locator('.search__status');

async function open(page: Page, route = '/'): Promise<void> {
  await page.goto(route);
  await hydrated(page);
}

async function search(page: Page, query: string): Promise<void> {
  await input(page).fill(query);
  await page.waitForFunction(() =>
    /見つかりました|見つかりませんでした/.test(document.querySelector('.search__status')?.textContent ?? ''),
  );
}

// proves site/search
describe('search', () => {
  check('the index is loaded on first use', desktop, async ({ page }) => {
    const requested: string[] = [];
    page.on('request', (request) => requested.push(new URL(request.url()).pathname));
    await open(page);
    assert.ok(!requested.includes('/search.json'));
    await page.getByRole('button', { name: 'ドキュメントを検索' }).click();
    await status(page).getByText('検索できます').waitFor();
    assert.equal(requested.filter((one) => one === '/search.json').length, 1);
    await page.keyboard.press('Escape');
    await page.keyboard.press('/');
    await input(page).waitFor();
    assert.equal(requested.filter((one) => one === '/search.json').length, 1);
  });
  for (const key of ['/', 'Control+k']) {
    check(`${key} opens it, Escape closes it and returns the focus`, desktop, async ({ page }) => {
      await open(page);
      await page.keyboard.press(key);
      await input(page).waitFor();
      assert.equal(await input(page).evaluate((node) => node === document.activeElement), true);
      assert.equal(await input(page).inputValue(), '');
      await page.keyboard.press('Escape');
      await input(page).waitFor({ state: 'detached' });
      assert.equal(await page.evaluate(() => document.activeElement?.className), 'search-button');
    });
  }
  check('the arrow keys select a hit, and Enter opens its heading', desktop, async ({ page }) => {
    await open(page);
    await page.keyboard.press('/');
    await search(page, 'notify-battery');
    const hits = page.locator('.search__hit');
    assert.equal(await hits.nth(0).getAttribute('aria-selected'), 'true');
    await page.keyboard.press('ArrowUp');
    assert.equal(await hits.last().getAttribute('aria-selected'), 'true');
    await page.keyboard.press('ArrowDown');
    assert.equal(
      await input(page).getAttribute('aria-activedescendant'),
      await hits.nth(0).getAttribute('id'),
    );
    const href = (await hits.nth(0).getAttribute('data-href')) ?? '';
    await page.keyboard.press('Enter');
    await page.waitForURL((url) => url.pathname + decodeURIComponent(url.hash) === decodeURIComponent(href));
    await page.waitForFunction(
      (id) => {
        const top = document.getElementById(id)?.getBoundingClientRect().top;
        return top !== undefined && top >= 0 && top < window.innerHeight;
      },
      decodeURIComponent(href.split('#')[1] ?? ''),
    );
  });
  check('every query of the table has the expected first hit in the browser', desktop, async ({ page }) => {
    await open(page);
    await page.keyboard.press('/');
    for (const { query, first, none } of queries) {
      await input(page).fill('');
      await search(page, query);
      const hits = page.locator('.search__hit');
      if (none) assert.equal(await hits.count(), 0, query);
      else if (first)
        assert.ok(
          (await hits.first().getAttribute('data-href'))?.startsWith(first),
          `${query} → ${await hits.first().getAttribute('data-href')}`,
        );
    }
  });
  check(
    'a hit shows its text with the words marked, and the status shows the number of hits',
    phone,
    async ({ page }) => {
      await open(page);
      await page.getByRole('button', { name: 'ドキュメントを検索' }).click();
      await search(page, 'webhook-id 重複');
      const hit = page.locator('.search__hit').first();
      assert.ok((await hit.locator('.search__excerpt mark').allTextContents()).includes('webhook-id'));
      await search(page, 'デバイス');
      await status(page)
        .getByText(/^\d{2,} 件見つかりました。上位 30 件を表示しています$/)
        .waitFor();
      await search(page, '録画 冷蔵庫');
      await status(page)
        .getByText(/^すべての語を含むものはありません。一部の語で \d+ 件/)
        .waitFor();
      assert.equal(
        await page.evaluate(() => document.documentElement.scrollWidth > window.innerWidth),
        false,
      );
    },
  );
  check(
    'a field of both request and response is shown with its part of the call',
    desktop,
    async ({ page }) => {
      await open(page);
      await page.keyboard.press('/');
      await search(page, 'deviceEvent');
      const paths = await page.locator('.search__path').allTextContents();
      assert.ok(paths.includes('API リファレンス › アプリケーション設定の更新 › 本文'), paths.join('\n'));
      assert.ok(paths.includes('API リファレンス › アプリケーション設定の更新 › 応答 200'));
    },
  );
  disturbed('a failure to load the index is shown and can be retried', phone, async ({ page, proxy }) => {
    const fix = proxy.on(/^\/search\.json$/, fails);
    await open(page);
    await page.getByRole('button', { name: 'ドキュメントを検索' }).click();
    await status(page).getByText('検索の準備に失敗しました。').waitFor();
    fix();
    await page.getByRole('button', { name: '再試行' }).click();
    await status(page).getByText('検索できます').waitFor();
  });
  disturbed('the focus stays in the dialog during a retry', desktop, async ({ page, proxy }) => {
    const isFocused = (selector: string) =>
      page.waitForFunction((one) => document.activeElement?.matches(one), selector);
    proxy.on(/^\/search\.json$/, fails);
    await open(page);
    await page.keyboard.press('/');
    const retry = page.getByRole('button', { name: '再試行' });
    await retry.focus();
    const again = proxy.hold(/^\/search\.json$/, fails);
    await retry.press('Enter');
    await again.requested;
    await isFocused('.search__status button[aria-disabled=true]');
    await again.release();
    await status(page).getByText('検索の準備に失敗しました。').waitFor();
    await isFocused('.search__status button[aria-disabled=false]');
    proxy.on(/^\/search\.json$/, passes);
    await retry.press('Enter');
    await status(page).getByText('検索できます').waitFor();
    await isFocused('.search__input');
  });
  disturbed(
    'a failure to load the engine does not affect the page and can be retried',
    desktop,
    async ({ page, proxy }) => {
      await open(page);
      const fix = proxy.on(/\.js$/, fails);
      await page.keyboard.press('/');
      await status(page).getByText('検索の準備に失敗しました。').waitFor();
      assert.equal(await page.locator('.status--crash').count(), 0);
      fix();
      await page.getByRole('button', { name: '再試行' }).click();
      await status(page).getByText('検索できます').waitFor();
    },
  );
});
