import assert from 'node:assert/strict';
import { describe } from 'node:test';
import type { Page } from 'playwright-core';
import { ja } from '../../src/strings/ja.ts';
import { maxBytes } from '../../src/theme/Announcements/load.ts';
import { parserLoadTimeoutMs, parseTimeoutMs } from '../../src/theme/Announcements/parser.ts';
import { heldTimer, hydrated, runHeldTimer } from '../support/browser.ts';
import { check, desktop, disturbed } from '../support/check.ts';
import { fails, replies, type TestProxy } from '../support/proxy.ts';
import { routes } from '../support/site.ts';

const address = /^\/announcements\/production\.md$/;
const parser = /^\/announcement-parser-[^/]*\.js$/;
const markdown = (body: string) => replies(body, { type: 'text/markdown; charset=utf-8' });

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

// proves site/only-call
check(
  'the announcements are the only document that the site fetches besides its pages',
  desktop,
  async ({ page, site }) => {
    const calls: string[] = [];
    page.on('request', (request) => {
      const { origin, pathname } = new URL(request.url());
      // Gatsby sends HEAD for a path without page data, to check whether it is a page.
      const ofPages =
        request.method() === 'HEAD' || /^\/(?:page-data|fragments)\/|^\/[^/]*\.json$/.test(pathname);
      if (origin !== site.url) calls.push(request.url());
      else if (['fetch', 'xhr'].includes(request.resourceType()) && !ofPages) calls.push(pathname);
    });
    for (const route of routes) {
      await page.goto(route);
      await hydrated(page);
      await page.waitForSelector('[aria-busy=true]', { state: 'detached' });
    }
    assert.deepEqual([...new Set(calls)], ['/announcements/production.md']);
  },
);

// proves site/information
describe('announcements', () => {
  const show = async (page: Page, proxy: TestProxy, body: string) => {
    proxy.on(address, markdown(body));
    await page.goto('/information');
    await loaded(page);
  };
  /** Text that the page finally shows: the document, or why it cannot be shown. */
  const outcome = async (page: Page): Promise<string> => {
    const error = page.locator('.information__error');
    const shown = await page.locator('.information .prose').or(error).innerText();
    if ((await error.count()) > 0) {
      assert.ok(shown.includes(ja.information.tooComplex), shown);
      assert.ok(await error.getByRole('button', { name: /Retry/ }).isVisible());
    }
    return shown;
  };
  const filled = (pattern: string) => pattern.repeat(Math.floor(maxBytes / pattern.length));
  for (const [name, body] of [
    ['emphasis', filled('*a_')],
    ['emphasis of three kinds', filled('a*b_c~d')],
    ['unclosed links', filled('[a](b')],
    ['marks in brackets', filled('[*a')],
    ['paragraphs', filled('a\n\n')],
    ['items', filled('- a\n')],
    ['columns', `${'|a'.repeat(16_000)}\n${'|-'.repeat(16_000)}\n`],
    ['cells', `${'|a'.repeat(40)}\n${'|-'.repeat(40)}\n${'|*a*\n'.repeat(12_000)}`],
    ['quotes in quotes', filled('>')],
    ['lists in lists', filled('- * ')],
    ['emphasis in emphasis', `${'*'.repeat(32_000)}a${'*'.repeat(32_000)}`],
    ['links', filled('[a](b)')],
  ] as const) {
    // The result depends on the speed of the machine.
    disturbed(
      `the largest document of ${name} is shown, or the reason why it cannot be shown`,
      desktop,
      async ({ page, proxy }) => {
        await show(page, proxy, body);
        assert.ok((await outcome(page)).length > 0);
      },
    );
  }
  disturbed(
    'a document that takes too long fails, and the page stays responsive',
    { ...desktop, before: heldTimer(parseTimeoutMs) },
    async ({ page, proxy }) => {
      const fix = proxy.on(address, markdown('*a_'.repeat(8000)));
      const worker = page.waitForEvent('worker');
      await page.goto('/information');
      await hydrated(page);
      const ended = (await worker).waitForEvent('close');
      await page.getByRole('button', { name: /^ダークモードを切り替える/ }).click();
      await page.waitForFunction(() => document.documentElement.dataset['theme'] === 'dark');
      assert.equal(await page.locator('.information__content').getAttribute('aria-busy'), 'true');
      await runHeldTimer(page);
      await page.getByText(new RegExp(ja.information.tooComplex)).waitFor();
      await ended;
      fix();
      await page.locator('.information__error').getByRole('button', { name: /Retry/ }).click();
      await page.locator('.information .prose').waitFor();
    },
  );
  disturbed(
    'leaving the page ends its parser',
    // The parser never times out, so that only leaving can end it.
    { ...desktop, before: heldTimer(parseTimeoutMs) },
    async ({ page, proxy }) => {
      proxy.on(address, markdown('*a_'.repeat(8000)));
      const worker = page.waitForEvent('worker');
      await page.goto('/information');
      await hydrated(page);
      const ended = (await worker).waitForEvent('close');
      await page.locator('a.footer__link[href^="/"]').first().click();
      await page.waitForURL((url) => url.pathname !== '/information');
      await ended;
      // A full page load would also end the parser: checks that there was none.
      const first = await page.evaluate(() => performance.getEntriesByType('navigation')[0]?.name);
      assert.match(first ?? '', /\/information$/);
    },
  );
  for (const [what, answer] of [
    ['cannot be fetched', fails],
    ['does not exist', replies('no', { status: 404 })],
    ['is another script', replies('throw new Error()', { type: 'text/javascript' })],
  ] as const) {
    disturbed(
      `a parser whose script ${what} is reported as a failure; Retry loads the announcements`,
      desktop,
      async ({ page, proxy }) => {
        const fix = proxy.on(parser, answer);
        await page.goto('/information');
        await page.getByText(new RegExp(ja.information.noParser)).waitFor();
        fix();
        await page.locator('.information__error').getByRole('button', { name: /Retry/ }).click();
        await page.locator('.information .prose').waitFor();
      },
    );
  }
  disturbed(
    'loading the parser has a separate timeout and does not count as parse time',
    desktop,
    async ({ page, proxy }) => {
      await page.clock.install();
      for (const [passedMs, end] of [
        [parserLoadTimeoutMs - 1000, page.locator('.information .prose')],
        [parserLoadTimeoutMs, page.getByText(new RegExp(ja.information.noParser))],
      ] as const) {
        assert.ok(passedMs > parseTimeoutMs);
        const held = proxy.hold(parser);
        await page.goto('/information');
        await held.requested;
        await page.clock.fastForward(passedMs);
        if (passedMs < parserLoadTimeoutMs) await held.release();
        await end.waitFor();
        await held.release();
      }
    },
  );
  check(
    'the parser is a hashed script of the site, and the policy allows no other worker',
    desktop,
    async ({ page, pageErrors }) => {
      const scripts: string[] = [];
      page.on('response', (response) => {
        if (response.url().includes('parser')) scripts.push(new URL(response.url()).pathname);
      });
      const answer = page.waitForResponse((one) => parser.test(new URL(one.url()).pathname));
      await page.goto('/information');
      await loaded(page);
      const headers = await (await answer).allHeaders();
      assert.match(scripts.join(), /^\/announcement-parser-[0-9a-f]{20}\.js$/);
      assert.match(headers['cache-control'] ?? '', /immutable/);
      assert.ok(['br', 'gzip'].includes(headers['content-encoding'] ?? ''));
      assert.deepEqual(pageErrors, []);
      const blockedBy = await page.evaluate(async () => {
        const violated = new Promise<string>((done) =>
          addEventListener('securitypolicyviolation', (event) => done(event.effectiveDirective)),
        );
        new Worker(URL.createObjectURL(new Blob(['postMessage(1)'])));
        return violated;
      });
      assert.equal(blockedBy, 'worker-src');
    },
  );
  disturbed('a document of more than 64 KiB is rejected', desktop, async ({ page, proxy }) => {
    await show(page, proxy, 'a'.repeat(maxBytes + 1));
    await page.getByText(/文書が大きすぎます/).waitFor();
    await show(page, proxy, 'a'.repeat(maxBytes));
    assert.equal(await page.locator('.information .prose').count(), 1);
  });
  for (const contentType of ['text/html; charset=utf-8', 'application/json', '']) {
    disturbed(`a response of the type '${contentType}' is an error`, desktop, async ({ page, proxy }) => {
      proxy.on(address, replies('## Sign in', { type: contentType }));
      await page.goto('/information');
      await page.getByText(/お知らせの文書ではない応答です/).waitFor();
      assert.equal(await page.getByText('Sign in').count(), 0);
    });
  }
  disturbed('addresses are resolved relative to the document', desktop, async ({ page, proxy }) => {
    await show(
      page,
      proxy,
      [
        '![絵](pic.png) [近く](next.md#a) [ここ](#b) [よそ](//other.example/x) [メール](mailto:a@b.example)',
        '[ガイド](/docs/introduction/about) https://example.com/をご覧 ![なし](javascript:1)',
      ].join('\n'),
    );
    const links = await page
      .locator('.information .prose a')
      .evaluateAll((all) => all.map((one) => [one.getAttribute('href'), one.getAttribute('target')]));
    assert.deepEqual(links, [
      ['/announcements/next.md#a', null],
      ['/announcements/production.md#b', null],
      ['http://other.example/x', '_blank'],
      ['mailto:a@b.example', '_blank'],
      ['/docs/introduction/about', null],
      ['https://example.com/', '_blank'],
    ]);
    const image = page.locator('.information .prose img');
    assert.equal(await image.getAttribute('src'), '/announcements/pic.png');
    assert.match(await page.locator('.information .prose').innerText(), /なし/);
  });
  disturbed('Markdown of announcements is rendered correctly', desktop, async ({ page, proxy }) => {
    await show(
      page,
      proxy,
      `# お知らせ

## 見出し ##

**「重要」**です。*強調*と~~取り消し~~、\`code\`、snake_case_name、\\*そのまま\\*。  
次の行

- 一
  - 一の一
    続き
- 二

3. 三
4. 四

> 引用
>
> [定義]: https://quote.example/
> [同じ]: https://first.example/

[同じ]: https://second.example/
[絵]: pic.png

[定義]と[文][同じ]と![代わりの*文*][絵]

| 列 | 値 |
|---|:-:|
| a \\| b | \`c\` |

\`\`\`json
{ "a":  1 }
\`\`\`
---
`,
    );
    const html = (await page.locator('.information .prose').innerHTML()).replace(/>\n</g, '><');
    for (const part of [
      '<h2>見出し</h2>',
      '<strong>「重要」</strong>です。<em>強調</em>と<del>取り消し</del>、<code>code</code>、snake_case_name、*そのまま*。',
      '<br>',
      '<ul><li>一\n<ul><li>一の一\n続き</li></ul></li><li>二</li></ul>',
      '<ol start="3"><li>三</li><li>四</li></ol>',
      '<blockquote><p>引用</p></blockquote>',
      '<a href="https://quote.example/"',
      '<a href="https://first.example/"',
      '<img src="/announcements/pic.png" alt="代わりの文"',
      '<tr><th>列</th><th align="center">値</th></tr>',
      '<tr><td>a | b</td><td align="center"><code>c</code></td></tr>',
      '<code class="language-json">{ "a":  1 }\n</code>',
      '<hr>',
    ])
      assert.ok(html.includes(part), `${part} is not in\n${html}`);
    assert.ok(!html.includes('second.example'));
  });
  check('the document of the environment is fetched and shown', desktop, async ({ page }) => {
    await page.goto('/information');
    await loaded(page);
    assert.equal(await page.locator('h1').textContent(), 'お知らせ');
    assert.equal(await page.locator('h1').count(), 1);
    assert.ok((await page.locator('.information .prose h2').count()) > 0);
  });
  disturbed('a status is shown while it loads', desktop, async ({ page, proxy }) => {
    const held = proxy.hold(address);
    await page.goto('/information');
    await page.getByText('お知らせを読み込んでいます。').waitFor();
    await held.release();
    await loaded(page);
  });
  disturbed(
    'a failure is shown with its reason; Retry loads the announcements',
    desktop,
    async ({ page, proxy }) => {
      const fix = proxy.on(address, replies('no', { status: 404 }));
      await page.goto('/information');
      const error = page.locator('.information__error');
      await error.waitFor();
      assert.match(await error.innerText(), /An error occurred/);
      assert.match(await error.innerText(), /404/);
      fix();
      await error.getByRole('button', { name: /Retry/ }).click();
      await page.locator('.information .prose').waitFor();
      assert.equal(await error.count(), 0);
    },
  );
  disturbed('Retry keeps the focus until it succeeds', desktop, async ({ page, proxy }) => {
    const focused = () => page.evaluate(() => document.activeElement?.textContent ?? '');
    proxy.on(address, replies('no', { status: 404 }));
    await page.goto('/information');
    const retry = page.locator('.information__error').getByRole('button', { name: /Retry/ });
    await retry.waitFor();
    const again = proxy.hold(address, replies('no', { status: 503 }));
    await retry.press('Enter');
    await again.requested;
    assert.match(await focused(), /Retry/);
    await again.release();
    await page.getByText(/503/).waitFor();
    assert.match(await focused(), /Retry/);
    for (const [text, expected] of [
      ['文\n\n## 見出し\n\n文\n', '見出し'],
      ['ただの文\n', 'ただの文'],
      ['', '現在お知らせはありません。'],
    ] as const) {
      proxy.on(address, replies('no', { status: 404 }));
      await page.goto('/information');
      await retry.waitFor();
      proxy.on(address, markdown(text));
      await retry.press('Enter');
      await page.locator('.information__error').waitFor({ state: 'detached' });
      await loaded(page);
      await page.waitForFunction((text) => document.activeElement?.textContent?.trim() === text, expected);
    }
  });
  disturbed('a focus that has moved while Retry loads stays there', desktop, async ({ page, proxy }) => {
    proxy.on(address, replies('no', { status: 404 }));
    await page.goto('/information');
    const retry = page.locator('.information__error').getByRole('button', { name: /Retry/ });
    await retry.waitFor();
    const held = proxy.hold(address, markdown('## 見出し\n'));
    await retry.press('Enter');
    await held.requested;
    const link = page.locator('.footer a[href^="/"]').first();
    await link.focus();
    await held.release();
    await page.locator('.information .prose').waitFor();
    assert.equal(await link.evaluate((node) => node === document.activeElement), true);
  });
  disturbed('a missing network is reported', desktop, async ({ page, proxy }) => {
    proxy.on(address, fails);
    await page.goto('/information');
    await page.getByText(/ネットワークに接続できませんでした/).waitFor();
  });
  disturbed(
    'a response that does not come is reported as a timeout',
    {
      ...desktop,
      before:
        'const real=AbortSignal.timeout.bind(AbortSignal);AbortSignal.timeout=(ms)=>{window.timeoutMs=ms;return real(100)}',
    },
    async ({ page, proxy }) => {
      proxy.hold(address);
      await page.goto('/information');
      await page.getByText(/時間内に応答がありませんでした/).waitFor();
      assert.equal(await page.evaluate(() => (window as unknown as { timeoutMs: number }).timeoutMs), 10_000);
    },
  );
  disturbed('an empty document shows that there are no announcements', desktop, async ({ page, proxy }) => {
    proxy.on(address, markdown('# お知らせ\n'));
    await page.goto('/information');
    await page.getByText('現在お知らせはありません。').waitFor();
  });
  disturbed('hostile markdown is text, with the policy on', desktop, async ({ page, pageErrors, proxy }) => {
    proxy.on(address, markdown(hostile));
    await page.goto('/information');
    await isHarmless(page);
    assert.deepEqual(pageErrors, []);
  });
  disturbed(
    'hostile markdown is text, with the policy off',
    { ...desktop, bypassCSP: true },
    async ({ page, proxy }) => {
      proxy.on(address, markdown(hostile));
      await page.goto('/information');
      // Checks that the policy is off: an inline script runs.
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
