import assert from 'node:assert/strict';
import { describe } from 'node:test';
import type { Page } from 'playwright-core';
import { hydrated } from '../support/browser.ts';
import { check, desktop, disturbed, phone } from '../support/check.ts';
import { fails, passes } from '../support/front.ts';
import { queries } from '../unit/search-queries.ts';

const input = (page: Page) => page.locator('.search__input');
const status = (page: Page) => page.locator('.search__status');

async function open(page: Page, route = '/'): Promise<void> {
  await page.goto(route);
  await hydrated(page);
}

async function ask(page: Page, query: string): Promise<void> {
  await input(page).fill(query);
  await page.waitForFunction(() =>
    /見つかりました|見つかりませんでした/.test(document.querySelector('.search__status')?.textContent ?? ''),
  );
}

// proves site/search
describe('search', () => {
  check('its index is loaded on the first use, not before', desktop, async ({ page }) => {
    const asked: string[] = [];
    page.on('request', (request) => asked.push(new URL(request.url()).pathname));
    await open(page);
    assert.ok(!asked.includes('/search.json'));
    await page.getByRole('button', { name: 'ドキュメントを検索' }).click();
    await status(page).getByText('検索できます').waitFor();
    assert.equal(asked.filter((one) => one === '/search.json').length, 1);
    await page.keyboard.press('Escape');
    await page.keyboard.press('/');
    await input(page).waitFor();
    assert.equal(asked.filter((one) => one === '/search.json').length, 1);
  });
  for (const key of ['/', 'Control+k']) {
    check(`${key} opens it, Escape closes it and gives the focus back`, desktop, async ({ page }) => {
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
  check('arrows choose, Enter goes to the hit’s heading', desktop, async ({ page }) => {
    await open(page);
    await page.keyboard.press('/');
    await ask(page, 'notify-battery');
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
  check('every query of the table has its first hit in the browser as well', desktop, async ({ page }) => {
    await open(page);
    await page.keyboard.press('/');
    for (const { query, first, none } of queries) {
      await input(page).fill('');
      await ask(page, query);
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
    'a hit shows its text with the words marked, and the status how many there are',
    phone,
    async ({ page }) => {
      await open(page);
      await page.getByRole('button', { name: 'ドキュメントを検索' }).click();
      await ask(page, 'webhook-id 重複');
      const hit = page.locator('.search__hit').first();
      assert.ok((await hit.locator('.search__excerpt mark').allTextContents()).includes('webhook-id'));
      await ask(page, 'デバイス');
      await status(page)
        .getByText(/^\d{2,} 件見つかりました。上位 30 件を表示しています$/)
        .waitFor();
      await ask(page, '録画 冷蔵庫');
      await status(page)
        .getByText(/^すべての語を含むものはありません。一部の語で \d+ 件/)
        .waitFor();
      assert.equal(
        await page.evaluate(() => document.documentElement.scrollWidth > window.innerWidth),
        false,
      );
    },
  );
  check('the same field of a call’s request and answer is told apart', desktop, async ({ page }) => {
    await open(page);
    await page.keyboard.press('/');
    await ask(page, 'deviceEvent');
    const paths = await page.locator('.search__path').allTextContents();
    assert.ok(paths.includes('API リファレンス › アプリケーション設定の更新 › 本文'), paths.join('\n'));
    assert.ok(paths.includes('API リファレンス › アプリケーション設定の更新 › 応答 200'));
  });
  disturbed('a failed index is told of and can be tried again', phone, async ({ page, front }) => {
    const fix = front.on(/^\/search\.json$/, fails);
    await open(page);
    await page.getByRole('button', { name: 'ドキュメントを検索' }).click();
    await status(page).getByText('検索の準備に失敗しました。').waitFor();
    fix();
    await page.getByRole('button', { name: '再試行' }).click();
    await status(page).getByText('検索できます').waitFor();
  });
  disturbed('the focus stays in the dialog while it is tried again', desktop, async ({ page, front }) => {
    const isFocused = (selector: string) =>
      page.waitForFunction((one) => document.activeElement?.matches(one), selector);
    front.on(/^\/search\.json$/, fails);
    await open(page);
    await page.keyboard.press('/');
    const retry = page.getByRole('button', { name: '再試行' });
    await retry.focus();
    const again = front.hold(/^\/search\.json$/, fails);
    await retry.press('Enter');
    await again.asked;
    await isFocused('.search__status button[aria-disabled=true]');
    await again.release();
    await status(page).getByText('検索の準備に失敗しました。').waitFor();
    await isFocused('.search__status button[aria-disabled=false]');
    front.on(/^\/search\.json$/, passes);
    await retry.press('Enter');
    await status(page).getByText('検索できます').waitFor();
    await isFocused('.search__input');
  });
  disturbed(
    'an engine that cannot be loaded leaves the page as it is, and can be tried again',
    desktop,
    async ({ page, front }) => {
      await open(page);
      const fix = front.on(/\.js$/, fails);
      await page.keyboard.press('/');
      await status(page).getByText('検索の準備に失敗しました。').waitFor();
      assert.equal(await page.locator('.status--crash').count(), 0);
      fix();
      await page.getByRole('button', { name: '再試行' }).click();
      await status(page).getByText('検索できます').waitFor();
    },
  );
});
