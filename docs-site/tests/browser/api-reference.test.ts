import assert from 'node:assert/strict';
import { join } from 'node:path';
import { after, describe, test } from 'node:test';
import { build } from 'esbuild';
import type { Page } from 'playwright-core';
import { closeBrowser, underBreak, visit } from '../support/browser.ts';
import { skip } from '../support/check.ts';
import { replies, startProxy } from '../support/proxy.ts';
import { jsonBody, oneCall, render, renderReal, root } from '../unit/api-support.ts';

/** Bundles stylesheets or scripts for a page with a reference, without Gatsby. */
const bundled = async (contents: string, loader: 'ts' | 'css', resolveDir: string): Promise<string> => {
  const { outputFiles } = await build({
    stdin: { contents, loader, resolveDir },
    bundle: true,
    write: false,
  });
  return outputFiles[0]?.text ?? '';
};
const styles = await bundled("@import './index.css';", 'css', join(root, 'src/css'));
const script = await bundled(
  "import { startSignature } from './signature'; startSignature();",
  'ts',
  join(root, 'src/behaviour'),
);

/** Whether an element is visible. Elements in closed details have a position, but are not visible. */
const isShown = (page: Page, id: string): Promise<boolean> =>
  page.evaluate((one) => document.getElementById(one)?.checkVisibility() ?? false, id);

interface Opened {
  readonly page: Page;
  readonly address: string;
  readonly requests: readonly string[];
}

/** Opens a page with this HTML, and closes it after the callback. */
async function open(
  html: string,
  { width = 1280, javaScriptEnabled = true },
  use: (opened: Opened) => Promise<void>,
): Promise<void> {
  // Served from 127.0.0.1, because WebCrypto works in secure contexts only.
  const proxy = await startProxy();
  const whole = `<!doctype html><html lang="ja" data-theme="light"${javaScriptEnabled ? ' class="js"' : ''}><head><meta name="viewport" content="width=device-width"><title>T</title><style>${styles}</style></head><body><main style="padding:1rem"><h1>T</h1><div class="prose prose--api">${html}</div></main><script>${script}</script></body></html>`;
  proxy.on(/^\/$/, replies(await underBreak(whole), { type: 'text/html; charset=utf-8' }));
  try {
    await visit(proxy.url, { viewport: { width, height: 900 }, javaScriptEnabled }, async ({ page }) => {
      const requests: string[] = [];
      page.on('request', (one) => requests.push(one.url()));
      const address = `${proxy.url}/`;
      await page.goto(address);
      await use({ page, address, requests });
    });
  } finally {
    await proxy.stop();
  }
}

describe('API reference in Chromium', () => {
  after(closeBrowser);

  const long = 'x'.repeat(200);
  let deep: Record<string, unknown> = { type: 'string', enum: [long], description: long, pattern: long };
  for (let level = 0; level < 8; level++)
    deep = { type: 'object', properties: { [`level${level}${'y'.repeat(60)}`]: deep } };
  const base = oneCall(
    {
      ...jsonBody(deep),
      summary: long,
      responses: {
        '200': {
          description: long,
          headers: { [long]: { description: long, schema: { type: 'string', pattern: long } } },
        },
      },
    },
    {
      info: {
        title: long,
        version: long,
        description: `${long}\n\n## ${long}\n\n| a | b |\n|---|---|\n| ${long} | ${long} |`,
      },
    },
  );
  const hostile = { ...base, paths: { [`/${long}/{id}`]: base.paths?.['/v1/things'] ?? {} } };

  for (const width of [320, 390, 997, 1440]) {
    test(`long words, long paths and deep schemas stay inside ${width} pixels`, { skip }, async () => {
      const { html } = render({ route: '/apis/v1/cws_api', document: hostile });
      await open(html, { width }, async ({ page }) => {
        await page.evaluate(() => {
          for (const one of document.querySelectorAll('details')) one.open = true;
        });
        const { beyond, outside } = await page.evaluate(() => {
          const scrolls = (one: Element | null): boolean =>
            one !== null &&
            (/(auto|scroll|hidden)/.test(getComputedStyle(one).overflowX) || scrolls(one.parentElement));
          const wide = [...document.querySelectorAll('.api *')].filter(
            (one) =>
              (one.getBoundingClientRect().right > innerWidth + 1 ||
                (one.clientWidth > 0 && one.scrollWidth > one.clientWidth + 1)) &&
              !scrolls(one),
          );
          return {
            beyond: document.documentElement.scrollWidth - innerWidth,
            outside: wide.map((one) => one.className),
          };
        });
        assert.equal(beyond, 0);
        assert.deepEqual(outside, []);
      });
    });
  }

  test('text and samples are side by side on wide screens, and below each other on narrow screens', {
    skip,
  }, async () => {
    const { html } = await renderReal('cws_presigned_url');
    for (const [width, isBeside] of [
      [1280, true],
      [800, false],
    ] as const) {
      await open(html, { width }, async ({ page }) => {
        const [lead, side] = await Promise.all(
          ['.api-operation__lead', '.api-side'].map((one) => page.locator(one).first().boundingBox()),
        );
        assert.ok(lead && side);
        assert.equal(side.x >= lead.x + lead.width, isBeside);
        assert.equal(side.y >= lead.y + lead.height, !isBeside);
      });
    }
  });

  test('the calculator signs the test vector, compares, notes a changed body, and sends nothing', {
    skip,
  }, async () => {
    const { html } = await renderReal('cws_notification');
    const section = /<section class="api-signature"[\s\S]*?<\/section>/.exec(html)?.[0] ?? '';
    await open(`<div class="api">${section}</div>`, {}, async ({ page, address, requests }) => {
      const form = page.locator('form[data-signature]');
      const say = form.locator('[data-signature-say]');
      await form.locator('[data-signature-use]').click();
      const shown = form.locator('[data-signature-simple]');
      await shown.waitFor();
      const simple = (await shown.textContent()) ?? '';
      assert.match(simple, /^[0-9a-f]{64}$/);
      const vector = await page.locator('.api-vector').textContent();
      assert.ok(vector?.includes(simple));
      assert.ok(vector?.includes((await form.locator('[data-signature-standard]').textContent()) ?? 'none'));
      await form.locator('[name=received]').fill(simple);
      await say.filter({ hasText: '一致します' }).waitFor();
      await form.locator('[name=body]').pressSequentially(' ');
      await say.filter({ hasText: '一致しません' }).waitFor();
      await form.locator('[type=reset]').click();
      await say.filter({ hasText: 'ここに署名が出ます' }).waitFor();
      assert.ok(await form.locator('.api-signature__values').isHidden());
      assert.deepEqual(requests, [address]);
      assert.deepEqual(await page.evaluate(() => [localStorage.length, sessionStorage.length]), [0, 0]);
    });
  });

  test('without scripts, every field can be read and no control that needs scripts is shown', {
    skip,
  }, async () => {
    const { html } = await renderReal('cws_notification');
    await open(html, { javaScriptEnabled: false }, async ({ page }) => {
      // The last variant of a body is closed, but its fields are laid out.
      assert.ok(await isShown(page, 'notify-file-upload.request.failure.message'));
      assert.ok(await page.locator('.api-expand').first().isHidden());
      assert.ok(await page.locator('[data-signature-use]').isHidden());
      assert.ok(await page.locator('.api-vector').isVisible());
    });
  });

  test('in print, every field is laid out', { skip }, async () => {
    const { html } = await renderReal('cws_presigned_url');
    await open(html, {}, async ({ page }) => {
      const field = 'sora-rec-get-multi-presigned-url.request.channel.connections.webmFile.splitted';
      assert.equal(await isShown(page, field), false);
      await page.emulateMedia({ media: 'print' });
      assert.ok(await isShown(page, field));
    });
  });
});
