import assert from 'node:assert/strict';
import { describe } from 'node:test';
import type { Page } from 'playwright-core';
import { ja } from '../../src/strings/ja.ts';
import { maxBytes } from '../../src/theme/Announcements/load.ts';
import { parserLoadTimeoutMs, parseTimeoutMs } from '../../src/theme/Announcements/parser.ts';
import { heldTimer, hydrated, runHeldTimer } from '../support/browser.ts';
import { check, desktop, disturbed } from '../support/check.ts';
import { type Front, fails, replies } from '../support/front.ts';
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
  'the announcements are the only document that the site fetches beside its own pages',
  desktop,
  async ({ page, site }) => {
    const calls: string[] = [];
    page.on('request', (request) => {
      const { origin, pathname } = new URL(request.url());
      // Whether a path that has no page data is a page after all, Gatsby asks by HEAD.
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
  const show = async (page: Page, front: Front, body: string) => {
    front.on(address, markdown(body));
    await page.goto('/information');
    await loaded(page);
  };
  /** What the page shows in the end: the document, or why it cannot be shown. */
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
    ['links that do not end', filled('[a](b')],
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
    // Which of the two depends on the machine's speed.
    disturbed(
      `the largest document of ${name} is shown, or the page says why not`,
      desktop,
      async ({ page, front }) => {
        await show(page, front, body);
        assert.ok((await outcome(page)).length > 0);
      },
    );
  }
  disturbed(
    'a document that takes too long fails, and the page answers meanwhile',
    { ...desktop, before: heldTimer(parseTimeoutMs) },
    async ({ page, front }) => {
      const fix = front.on(address, markdown('*a_'.repeat(8000)));
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
    // Its time never ends: only leaving can end it.
    { ...desktop, before: heldTimer(parseTimeoutMs) },
    async ({ page, front }) => {
      front.on(address, markdown('*a_'.repeat(8000)));
      const worker = page.waitForEvent('worker');
      await page.goto('/information');
      await hydrated(page);
      const ended = (await worker).waitForEvent('close');
      await page.locator('a.footer__link[href^="/"]').first().click();
      await page.waitForURL((url) => url.pathname !== '/information');
      await ended;
      // No new document came, which would have ended it as well.
      const first = await page.evaluate(() => performance.getEntriesByType('navigation')[0]?.name);
      assert.match(first ?? '', /\/information$/);
    },
  );
  for (const [what, answer] of [
    ['does not come', fails],
    ['is not there', replies('no', { status: 404 })],
    ['is another script', replies('throw new Error()', { type: 'text/javascript' })],
  ] as const) {
    disturbed(
      `a parser whose script ${what} is a failure; Retry loads it`,
      desktop,
      async ({ page, front }) => {
        const fix = front.on(parser, answer);
        await page.goto('/information');
        await page.getByText(new RegExp(ja.information.noParser)).waitFor();
        fix();
        await page.locator('.information__error').getByRole('button', { name: /Retry/ }).click();
        await page.locator('.information .prose').waitFor();
      },
    );
  }
  disturbed(
    'the time of a document does not count while the parser loads, whose own time ends',
    desktop,
    async ({ page, front }) => {
      await page.clock.install();
      for (const [passedMs, end] of [
        [parserLoadTimeoutMs - 1000, page.locator('.information .prose')],
        [parserLoadTimeoutMs, page.getByText(new RegExp(ja.information.noParser))],
      ] as const) {
        assert.ok(passedMs > parseTimeoutMs);
        const held = front.hold(parser);
        await page.goto('/information');
        await held.asked;
        await page.clock.fastForward(passedMs);
        if (passedMs < parserLoadTimeoutMs) await held.release();
        await end.waitFor();
        await held.release();
      }
    },
  );
  check(
    'the parser is one hashed script of the site, and the policy allows no other',
    desktop,
    async ({ page, complaints }) => {
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
      assert.deepEqual(complaints, []);
      const refused = await page.evaluate(async () => {
        const violated = new Promise<string>((done) =>
          addEventListener('securitypolicyviolation', (event) => done(event.effectiveDirective)),
        );
        new Worker(URL.createObjectURL(new Blob(['postMessage(1)'])));
        return violated;
      });
      assert.equal(refused, 'worker-src');
    },
  );
  disturbed('more than 64 KiB is not read to its end', desktop, async ({ page, front }) => {
    await show(page, front, 'a'.repeat(maxBytes + 1));
    await page.getByText(/文書が大きすぎます/).waitFor();
    await show(page, front, 'a'.repeat(maxBytes));
    assert.equal(await page.locator('.information .prose').count(), 1);
  });
  for (const contentType of ['text/html; charset=utf-8', 'application/json', '']) {
    disturbed(`an answer of the type '${contentType}' is an error`, desktop, async ({ page, front }) => {
      front.on(address, replies('## Sign in', { type: contentType }));
      await page.goto('/information');
      await page.getByText(/お知らせの文書ではない応答です/).waitFor();
      assert.equal(await page.getByText('Sign in').count(), 0);
    });
  }
  disturbed('addresses are seen from the document', desktop, async ({ page, front }) => {
    await show(
      page,
      front,
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
  disturbed('what announcements are made of is shown as it is meant', desktop, async ({ page, front }) => {
    await show(
      page,
      front,
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
  disturbed('while it loads it says so', desktop, async ({ page, front }) => {
    const held = front.hold(address);
    await page.goto('/information');
    await page.getByText('お知らせを読み込んでいます。').waitFor();
    await held.release();
    await loaded(page);
  });
  disturbed('a failure is shown with its reason; Retry loads it', desktop, async ({ page, front }) => {
    const fix = front.on(address, replies('no', { status: 404 }));
    await page.goto('/information');
    const error = page.locator('.information__error');
    await error.waitFor();
    assert.match(await error.innerText(), /An error occurred/);
    assert.match(await error.innerText(), /404/);
    fix();
    await error.getByRole('button', { name: /Retry/ }).click();
    await page.locator('.information .prose').waitFor();
    assert.equal(await error.count(), 0);
  });
  disturbed('Retry keeps the focus until it has helped', desktop, async ({ page, front }) => {
    const focused = () => page.evaluate(() => document.activeElement?.textContent ?? '');
    front.on(address, replies('no', { status: 404 }));
    await page.goto('/information');
    const retry = page.locator('.information__error').getByRole('button', { name: /Retry/ });
    await retry.waitFor();
    const again = front.hold(address, replies('no', { status: 503 }));
    await retry.press('Enter');
    await again.asked;
    assert.match(await focused(), /Retry/);
    await again.release();
    await page.getByText(/503/).waitFor();
    assert.match(await focused(), /Retry/);
    for (const [text, expected] of [
      ['文\n\n## 見出し\n\n文\n', '見出し'],
      ['ただの文\n', 'ただの文'],
      ['', '現在お知らせはありません。'],
    ] as const) {
      front.on(address, replies('no', { status: 404 }));
      await page.goto('/information');
      await retry.waitFor();
      front.on(address, markdown(text));
      await retry.press('Enter');
      await page.locator('.information__error').waitFor({ state: 'detached' });
      await loaded(page);
      await page.waitForFunction((said) => document.activeElement?.textContent?.trim() === said, expected);
    }
  });
  disturbed('whoever went elsewhere while Retry loads stays there', desktop, async ({ page, front }) => {
    front.on(address, replies('no', { status: 404 }));
    await page.goto('/information');
    const retry = page.locator('.information__error').getByRole('button', { name: /Retry/ });
    await retry.waitFor();
    const held = front.hold(address, markdown('## 見出し\n'));
    await retry.press('Enter');
    await held.asked;
    const link = page.locator('.footer a[href^="/"]').first();
    await link.focus();
    await held.release();
    await page.locator('.information .prose').waitFor();
    assert.equal(await link.evaluate((node) => node === document.activeElement), true);
  });
  disturbed('offline is named', desktop, async ({ page, front }) => {
    front.on(address, fails);
    await page.goto('/information');
    await page.getByText(/ネットワークに接続できませんでした/).waitFor();
  });
  disturbed(
    'an answer that does not come ends with the time-out’s message',
    {
      ...desktop,
      before:
        'const real=AbortSignal.timeout.bind(AbortSignal);AbortSignal.timeout=(ms)=>{window.asked=ms;return real(100)}',
    },
    async ({ page, front }) => {
      front.hold(address);
      await page.goto('/information');
      await page.getByText(/時間内に応答がありませんでした/).waitFor();
      assert.equal(await page.evaluate(() => (window as unknown as { asked: number }).asked), 10_000);
    },
  );
  disturbed('an empty document says that there is nothing', desktop, async ({ page, front }) => {
    front.on(address, markdown('# お知らせ\n'));
    await page.goto('/information');
    await page.getByText('現在お知らせはありません。').waitFor();
  });
  disturbed('hostile markdown is text, with the policy on', desktop, async ({ page, complaints, front }) => {
    front.on(address, markdown(hostile));
    await page.goto('/information');
    await isHarmless(page);
    assert.deepEqual(complaints, []);
  });
  disturbed(
    'hostile markdown is text, with the policy off',
    { ...desktop, bypassCSP: true },
    async ({ page, front }) => {
      front.on(address, markdown(hostile));
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
