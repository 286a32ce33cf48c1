import assert from 'node:assert/strict';
import { describe } from 'node:test';
import type { Page, Route } from 'playwright-core';
import { check, desktop } from '../support/check.ts';

const address = '**/announcements/production.md';
const markdown = (body: string) => (route: Route) =>
  route.fulfill({ contentType: 'text/markdown; charset=utf-8', body });

const hostile = `# お知らせ

## 見出し <script>window.hacked = 'script'</script>

<script>window.hacked = 'block'</script>
<img src=x onerror="window.hacked='onerror'">
<iframe src="javascript:parent.hacked='iframe'"></iframe>
<form action="https://evil.example"><input name=q autofocus onfocus="window.hacked='focus'"></form>
<svg onload="window.hacked='svg'"><style>body{display:none}</style>

[悪い](javascript:window.hacked='link') [もっと悪い](data:text/html,<script>opener.hacked='data'</script>)
[大文字](JaVaScRiPt:window.hacked='case') [改行](java&#10;script:window.hacked='newline') [参照][ref]
<javascript:window.hacked='auto'> ![絵](javascript:window.hacked='image) ![絵](data:image/svg+xml,<svg/onload=alert(1)>)

[ref]: vbscript:msgbox

| 表 | <b onmouseover="window.hacked='cell'">x</b> |
|---|---|
| [x](javascript:window.hacked='cell') | [良い](https://example.com/) |

普通の[リンク](/docs/introduction/about)です。
`;

const loaded = (page: Page) =>
  page.waitForFunction(
    () => document.querySelector('.information__content')?.getAttribute('aria-busy') === 'false',
  );

async function isHarmless(page: Page): Promise<void> {
  await loaded(page);
  for (const link of await page.locator('.information .prose a').all()) {
    assert.match((await link.getAttribute('href')) ?? '', /^(?:https:\/\/|\/)/);
  }
  const { tags, handlers } = await page.locator('.information .prose').evaluate((node) => {
    const all = [...node.querySelectorAll('*')];
    return {
      tags: all.map((one) => one.tagName.toLowerCase()),
      handlers: all
        .flatMap((one) => [...one.attributes].map((attribute) => attribute.name))
        .filter((name) => name.startsWith('on')),
    };
  });
  for (const tag of ['script', 'iframe', 'form', 'input', 'style', 'svg', 'object', 'embed', 'img'])
    assert.ok(!tags.includes(tag), tag);
  assert.deepEqual(handlers, []);
  for (const text of await page
    .locator('.information .prose')
    .getByText(/悪い|大文字|改行/)
    .all())
    await text.click({ trial: false });
  assert.equal(await page.evaluate(() => (window as unknown as { hacked?: string }).hacked), undefined);
  assert.match(await page.locator('.information .prose').innerText(), /<script>window\.hacked/);
}

// proves site/information
describe('announcements', () => {
  check('the document of the environment is fetched and shown', desktop, async ({ page }) => {
    await page.goto('/information');
    await loaded(page);
    assert.equal(await page.locator('h1').textContent(), 'お知らせ');
    assert.equal(await page.locator('h1').count(), 1);
    assert.ok((await page.locator('.information .prose h2').count()) > 0);
  });
  check('while it loads it says so', desktop, async ({ page }) => {
    let release: () => void = () => undefined;
    const held = new Promise<void>((done) => {
      release = done;
    });
    await page.route(address, async (route) => {
      await held;
      await route.continue();
    });
    await page.goto('/information');
    await page.getByText('お知らせを読み込んでいます。').waitFor();
    release();
    await loaded(page);
  });
  check('a failure is shown with its reason; Retry loads it', desktop, async ({ page }) => {
    await page.route(address, (route) => route.fulfill({ status: 404, body: 'no' }));
    await page.goto('/information');
    const error = page.locator('.information__error');
    await error.waitFor();
    assert.match(await error.innerText(), /An error occurred/);
    assert.match(await error.innerText(), /404/);
    await page.unroute(address);
    await error.getByRole('button', { name: /Retry/ }).click();
    await page.locator('.information .prose').waitFor();
    assert.equal(await error.count(), 0);
  });
  check('offline is named', desktop, async ({ page }) => {
    await page.route(address, (route) => route.abort('internetdisconnected'));
    await page.goto('/information');
    await page.getByText(/ネットワークに接続できませんでした/).waitFor();
  });
  check(
    'an answer that does not come ends with the time-out’s message',
    {
      ...desktop,
      before:
        'const real=AbortSignal.timeout.bind(AbortSignal);AbortSignal.timeout=(ms)=>{window.asked=ms;return real(100)}',
    },
    async ({ page }) => {
      let release: () => void = () => undefined;
      const held = new Promise<void>((done) => {
        release = done;
      });
      await page.route(address, async (route) => {
        await held;
        await route.abort().catch(() => undefined);
      });
      await page.goto('/information');
      await page.getByText(/時間内に応答がありませんでした/).waitFor();
      assert.equal(await page.evaluate(() => (window as unknown as { asked: number }).asked), 10_000);
      release();
    },
  );
  check('an empty document says that there is nothing', desktop, async ({ page }) => {
    await page.route(address, markdown('# お知らせ\n'));
    await page.goto('/information');
    await page.getByText('現在お知らせはありません。').waitFor();
  });
  check('hostile markdown is text, with the policy on', desktop, async ({ page, complaints }) => {
    await page.route(address, markdown(hostile));
    await page.goto('/information');
    await isHarmless(page);
    assert.deepEqual(complaints, []);
  });
  check(
    'hostile markdown is text, with the policy off',
    { ...desktop, bypassCSP: true },
    async ({ page }) => {
      await page.route(address, markdown(hostile));
      await page.goto('/information');
      // The policy is off indeed: an inline script runs.
      await page.evaluate(() => {
        const script = document.createElement('script');
        script.textContent = 'window.policyIsOff = true';
        document.head.append(script);
      });
      assert.equal(
        await page.evaluate(() => (window as unknown as { policyIsOff?: boolean }).policyIsOff),
        true,
      );
      await isHarmless(page);
    },
  );
});
