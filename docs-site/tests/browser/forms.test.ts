import assert from 'node:assert/strict';
import { createHmac } from 'node:crypto';
import { describe } from 'node:test';
import type { Page } from 'playwright-core';
import { hydrated } from '../support/browser.ts';
import { check, desktop } from '../support/check.ts';

const route = '/docs/introduction/tutorial';
const reference = '/apis/v1/cws_notification';

async function openValues(page: Page): Promise<void> {
  await page.goto(route);
  await hydrated(page);
  await page.locator('[data-values] summary').click();
}

const typed = async (page: Page, name: string, value: string) => {
  await page.locator(`input[name=${name}]`).fill(value);
  await page.locator(`input[name=${name}]`).blur();
};
const shown = (page: Page, name: string) => page.locator(`[data-value=${name}]`).allTextContents();
const problem = async (page: Page, name: string): Promise<string> => {
  const input = page.locator(`input[name=${name}]`);
  if ((await input.getAttribute('aria-invalid')) !== 'true') return '';
  const id = await input.getAttribute('aria-describedby');
  return (await page.locator(`#${id}`).innerText()).trim();
};

// proves site/code-blocks
describe('reader values', () => {
  for (const character of ["'", '"', '\\', '$', '`']) {
    check(`${character} is rejected with a reason and not inserted`, desktop, async ({ page }) => {
      await openValues(page);
      await typed(page, 'clientSecret', 'good-secret');
      await typed(page, 'clientSecret', `a${character}b`);
      assert.match(await problem(page, 'clientSecret'), /使えない文字/);
      for (const text of await shown(page, 'clientSecret')) assert.equal(text, 'your-client-secret');
      await typed(page, 'clientSecret', 'a<b>&c%/+=');
      assert.equal(await problem(page, 'clientSecret'), '');
      for (const text of await shown(page, 'clientSecret')) assert.equal(text, 'a<b>&c%/+=');
    });
  }
  for (const [name, wrong, right, reason] of [
    ['apiUrl', 'api.example.com', 'https://api.example.com', /http/],
    ['tokenUrl', 'javascript:alert(1)', 'https://token.example.com/token', /http/],
    ['apiUrl', 'https://user:word@api.example.com', 'https://api.example.com', /ユーザー名/],
    ['clientSecret', '秘密', 'a:b', /半角/],
    ['deviceId', '12345', '350000000000006', /15 桁/],
    ['applicationId', 'a b/c', 'app-1_x.Y', /半角/],
    ['clientId', 'あいう', 'client-1', /半角/],
  ] as const) {
    check(`${name} ${wrong}: the value is checked when the field loses focus`, desktop, async ({ page }) => {
      await openValues(page);
      const before = await shown(page, name);
      assert.ok(((await page.locator(`input[name=${name}]`).getAttribute('placeholder')) ?? '') !== '');
      await typed(page, name, wrong);
      assert.match(await problem(page, name), reason);
      assert.deepEqual(await shown(page, name), before);
      await typed(page, name, right);
      assert.equal(await problem(page, name), '');
      for (const text of await shown(page, name)) assert.equal(text, right);
    });
  }
  check('a slash at the end of the API’s address is removed', desktop, async ({ page }) => {
    await openValues(page);
    await typed(page, 'apiUrl', 'https://api.example.com/base//');
    assert.equal(await problem(page, 'apiUrl'), '');
    for (const text of await shown(page, 'apiUrl')) assert.equal(text, 'https://api.example.com/base');
  });
  check('an address with a password is not stored', desktop, async ({ page }) => {
    await page.goto('/');
    const address = 'https://user:word@api.example.com';
    await page.evaluate(
      (apiUrl) =>
        sessionStorage.setItem('sample-values', JSON.stringify({ apiUrl, deviceId: '1'.repeat(15) })),
      address,
    );
    await openValues(page);
    const kept = () => page.evaluate(() => sessionStorage.getItem('sample-values'));
    assert.equal(await kept(), JSON.stringify({ deviceId: '1'.repeat(15) }));
    await typed(page, 'tokenUrl', address);
    assert.equal(await kept(), JSON.stringify({ deviceId: '1'.repeat(15) }));
  });
  check('stored values are checked', desktop, async ({ page }) => {
    await page.goto('/');
    await page.evaluate(() =>
      sessionStorage.setItem('sample-values', JSON.stringify({ applicationId: "x'; rm -rf /" })),
    );
    await openValues(page);
    for (const text of await shown(page, 'applicationId')) assert.equal(text, 'your-application-id');
  });
  check('clearing the form removes the reasons', desktop, async ({ page }) => {
    await openValues(page);
    await typed(page, 'deviceId', '1');
    await page.getByRole('button', { name: '入力を消す' }).click();
    assert.equal(await problem(page, 'deviceId'), '');
  });
  check(
    'copying returns the shown values',
    { ...desktop, permissions: ['clipboard-read', 'clipboard-write'] },
    async ({ page }) => {
      await openValues(page);
      await typed(page, 'clientSecret', 'a<b>&c');
      const block = page.locator('.code:has([data-value=clientSecret])').filter({ visible: true }).first();
      await block.locator('[data-code=copy]').click();
      await page.locator('[data-state=done]').first().waitFor();
      const copied = await page.evaluate(() => navigator.clipboard.readText());
      assert.equal(copied, await block.locator('code').textContent());
      assert.ok(copied.includes('a<b>&c'));
    },
  );
  check('the form looks expandable, on references too', desktop, async ({ page }) => {
    for (const where of [route, '/apis/v1/cws_api']) {
      await page.goto(where);
      const summary = page.locator('[data-values] > summary');
      const marked = await summary.evaluate(
        (node) =>
          getComputedStyle(node).listStyleType !== 'none' ||
          getComputedStyle(node, '::before').content !== 'none',
      );
      assert.equal(marked, true, where);
    }
  });
});

describe('signature calculator', () => {
  const open = async (page: Page) => {
    await page.goto(reference);
    await hydrated(page);
    await page.locator('[data-signature-use]').click();
    await page.locator('[data-signature-say][data-state=done]').waitFor();
  };
  const say = (page: Page) => page.locator('[data-signature-say]').innerText();
  for (const [emptied, named] of [
    [['id'], /webhook-id が空/],
    [['timestamp'], /webhook-timestamp が空/],
    [['id', 'timestamp'], /webhook-id と webhook-timestamp が空/],
  ] as const) {
    check(`the result names an empty ${emptied.join(' and ')}`, desktop, async ({ page }) => {
      await open(page);
      const standard = await page.locator('[data-signature-standard]').innerText();
      await page.locator('form[data-signature] [name=received]').fill(standard);
      await page.locator('[data-signature-say][data-state=matches]').waitFor();
      for (const name of emptied) await page.locator(`form[data-signature] [name=${name}]`).fill('');
      await page.locator('[data-signature-say][data-state=missing]').waitFor();
      assert.match(await say(page), named);
      // The simple signature needs neither id nor timestamp.
      const simple = await page.locator('[data-signature-simple]').innerText();
      await page.locator('form[data-signature] [name=received]').fill(simple);
      await page.locator('[data-signature-say][data-state=matches]').waitFor();
      await page.locator('form[data-signature] [name=received]').fill('0'.repeat(64));
      await page.locator('[data-signature-say][data-state=differs]').waitFor();
    });
  }
  const simpleOf = (key: string, body: string | Uint8Array) =>
    createHmac('sha256', key).update(body).digest('hex');
  const signatureIs = (page: Page, expected: string) =>
    page.waitForFunction(
      (simple) => document.querySelector('[data-signature-simple]')?.textContent === simple,
      expected,
    );
  check(
    'upper-case hex digits are reported, and an empty body has a signature',
    desktop,
    async ({ page }) => {
      await open(page);
      const simple = await page.locator('[data-signature-simple]').innerText();
      const received = page.locator('form[data-signature] [name=received]');
      await received.fill(simple.toUpperCase());
      await page.locator('[data-signature-say][data-state=capitals]').waitFor();
      assert.match(await say(page), /小文字/);
      await received.fill('');
      await page.locator('form[data-signature] [name=body]').fill('');
      const key = await page.locator('form[data-signature] [name=key]').inputValue();
      await signatureIs(page, simpleOf(key, ''));
      assert.match(await say(page), /本文 0 バイト/);
    },
  );
  check('the bytes of a file and the text are signed; nothing is sent', desktop, async ({ page }) => {
    await open(page);
    const requests: string[] = [];
    page.on('request', (request) => {
      // Pages are prefetched when their links become visible.
      const isPrefetch = request.method() === 'GET' && /\/page-data\/[\w/-]+\.json$/.test(request.url());
      if (!isPrefetch) requests.push(request.url());
    });
    assert.match(await page.locator('form[data-signature]').innerText(), /改行を LF に変えます/);
    const file = page.locator('form[data-signature] [name=file]');
    const body = page.locator('form[data-signature] [name=body]');
    const buffer = Buffer.from([0x7b, 0x0d, 0x0a, 0xff, 0x7d]);
    await page.locator('form[data-signature] [name=key]').fill('key');
    await file.setInputFiles({ name: 'body.json', mimeType: 'application/json', buffer });
    await signatureIs(page, simpleOf('key', buffer));
    assert.match(await say(page), /本文 5 バイト/);
    assert.equal(await body.inputValue(), '');
    await body.fill('a\r\nb');
    await signatureIs(page, simpleOf('key', 'a\nb'));
    assert.equal(await file.inputValue(), '');
    await file.setInputFiles({ name: 'large', mimeType: '', buffer: Buffer.alloc(16 * 1024 * 1024 + 1) });
    await page.locator('[data-signature-say][data-state=unreadable]').waitFor();
    await page.locator('[data-signature-use]').click();
    await page.locator('[data-signature-say][data-state=done]').waitFor();
    assert.equal(await file.inputValue(), '');
    assert.deepEqual(requests, []);
  });
  check('after leaving the page and Back, form and result are empty', desktop, async ({ page }) => {
    await open(page);
    await page.evaluate(() =>
      (window as unknown as { ___navigate(path: string): void }).___navigate('/docs/introduction/about'),
    );
    await page.locator('h1', { hasText: '概要' }).waitFor();
    await page.goBack();
    await page.locator('form[data-signature]').waitFor();
    assert.equal(await page.locator('form[data-signature] [name=key]').inputValue(), '');
    assert.equal(await page.locator('.api-signature__values').isVisible(), false);
    assert.match(await say(page), /入力すると/);
  });
});
