import assert from 'node:assert/strict';
import { describe } from 'node:test';
import type { Page, Route } from 'playwright-core';
import { ja } from '../../src/strings/ja.ts';
import { mostBytes } from '../../src/theme/Announcements/load.ts';
import { parserLoadTimeoutMs, parseTimeoutMs } from '../../src/theme/Announcements/parser.ts';
import { hydrated } from '../support/browser.ts';
import { check, desktop } from '../support/check.ts';

const address = '**/announcements/production.md';
const parser = '**/announcement-parser-*.js';
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
  const show = async (page: Page, body: string) => {
    await page.route(address, markdown(body));
    await page.goto('/information');
    await loaded(page);
  };
  /** Milliseconds of processor time that the page takes from the document's coming to its next frame. */
  async function costOf(page: Page, body: string): Promise<number> {
    let release: () => void = () => undefined;
    const held = new Promise<void>((done) => {
      release = done;
    });
    await page.route(address, async (route) => {
      await held;
      await markdown(body)(route);
    });
    await page.goto('/information');
    await hydrated(page);
    await page.getByText('お知らせを読み込んでいます。').waitFor();
    const client = await page.context().newCDPSession(page);
    await client.send('Performance.enable', { timeDomain: 'threadTicks' });
    const used = async () =>
      ((await client.send('Performance.getMetrics')).metrics.find((one) => one.name === 'TaskDuration')
        ?.value ?? 0) * 1000;
    const before = await used();
    release();
    await loaded(page);
    await page.evaluate(() => new Promise((done) => requestAnimationFrame(() => setTimeout(done))));
    return (await used()) - before;
  }
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
  const filled = (pattern: string) => pattern.repeat(Math.floor(mostBytes / pattern.length));
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
    check(`the largest document of ${name} does not hold the page up`, desktop, async ({ page }) => {
      const ms = await costOf(page, body);
      process.stdout.write(`    ${name}: ${ms.toFixed(0)} ms\n`);
      // Which of the two depends on the machine's speed; how much of a document is shown, the unit test tells.
      assert.ok((await outcome(page)).length > 0);
      // Less than 200 ms on an idle machine.
      assert.ok(ms > 0 && ms < 600, `${ms} ms`);
    });
  }
  check('a document that takes too long fails, and the page answers meanwhile', desktop, async ({ page }) => {
    await page.route(address, markdown('*a_'.repeat(8000)));
    const worker = page.waitForEvent('worker');
    await page.goto('/information');
    await hydrated(page);
    const ended = (await worker).waitForEvent('close');
    const begun = Date.now();
    await page.getByRole('button', { name: /^ダークモードを切り替える/ }).click();
    await page.waitForFunction(() => document.documentElement.dataset['theme'] === 'dark');
    const answeredMs = Date.now() - begun;
    assert.equal(await page.locator('.information__content').getAttribute('aria-busy'), 'true');
    await page.getByText(new RegExp(ja.information.tooComplex)).waitFor();
    process.stdout.write(`    answered after ${answeredMs} ms, failed after ${Date.now() - begun} ms\n`);
    await ended;
    await page.unroute(address);
    await page.locator('.information__error').getByRole('button', { name: /Retry/ }).click();
    await page.locator('.information .prose').waitFor();
  });
  check(
    'leaving the page ends its parser',
    {
      ...desktop,
      // Its time never ends: only leaving can end it.
      before: `const real=setTimeout;window.setTimeout=(f,ms,...rest)=>real(f,ms===${parseTimeoutMs}?1e6:ms,...rest)`,
    },
    async ({ page }) => {
      await page.route(address, markdown('*a_'.repeat(8000)));
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
    ['does not come', (route: Route) => route.abort()],
    ['is not there', (route: Route) => route.fulfill({ status: 404, body: 'no' })],
    [
      'is another script',
      (route: Route) => route.fulfill({ contentType: 'text/javascript', body: 'throw new Error()' }),
    ],
  ] as const) {
    check(`a parser whose script ${what} is a failure; Retry loads it`, desktop, async ({ page }) => {
      await page.route(parser, answer);
      await page.goto('/information');
      await page.getByText(new RegExp(ja.information.noParser)).waitFor();
      await page.unroute(parser);
      await page.locator('.information__error').getByRole('button', { name: /Retry/ }).click();
      await page.locator('.information .prose').waitFor();
    });
  }
  check(
    'the time of a document does not count while the parser loads, whose own time ends',
    desktop,
    async ({ page }) => {
      await page.clock.install();
      for (const [passedMs, end] of [
        [parserLoadTimeoutMs - 1000, page.locator('.information .prose')],
        [parserLoadTimeoutMs, page.getByText(new RegExp(ja.information.noParser))],
      ] as const) {
        assert.ok(passedMs > parseTimeoutMs);
        const { promise: held, resolve: release } = Promise.withResolvers<void>();
        await page.route(parser, async (route) => {
          await held;
          await route.continue().catch(() => undefined);
        });
        const asked = page.waitForRequest(parser);
        await page.goto('/information');
        await asked;
        await page.clock.fastForward(passedMs);
        if (passedMs < parserLoadTimeoutMs) release();
        await end.waitFor();
        release();
        await page.unroute(parser);
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
      const answer = page.waitForResponse(parser);
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
  check('more than 64 KiB is not read to its end', desktop, async ({ page }) => {
    await show(page, 'a'.repeat(mostBytes + 1));
    await page.getByText(/文書が大きすぎます/).waitFor();
    await page.unroute(address);
    await show(page, 'a'.repeat(mostBytes));
    assert.equal(await page.locator('.information .prose').count(), 1);
  });
  for (const contentType of ['text/html; charset=utf-8', 'application/json', '']) {
    check(`an answer of the type '${contentType}' is an error`, desktop, async ({ page }) => {
      await page.route(address, (route) =>
        route.fulfill({ headers: { 'content-type': contentType }, body: '## Sign in' }),
      );
      await page.goto('/information');
      await page.getByText(/お知らせの文書ではない応答です/).waitFor();
      assert.equal(await page.getByText('Sign in').count(), 0);
    });
  }
  check('addresses are seen from the document', desktop, async ({ page }) => {
    await show(
      page,
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
  check('what announcements are made of is shown as it is meant', desktop, async ({ page }) => {
    await show(
      page,
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
    const html = await page.locator('.information .prose').innerHTML();
    for (const part of [
      '<h2>見出し</h2>',
      '<strong>「重要」</strong>です。<em>強調</em>と<del>取り消し</del>、<code>code</code>、snake_case_name、*そのまま*。',
      '<br>',
      '<ul><li><p>一</p><ul><li><p>一の一\n続き</p></li></ul></li><li><p>二</p></li></ul>',
      '<ol start="3"><li><p>三</p></li><li><p>四</p></li></ol>',
      '<blockquote><p>引用</p></blockquote>',
      '<a href="https://quote.example/"',
      '<a href="https://first.example/"',
      '<img src="/announcements/pic.png" alt="代わりの文"',
      '<tr><th>列</th><th>値</th></tr>',
      '<tr><td>a | b</td><td><code>c</code></td></tr>',
      '<code>{ "a":  1 }</code>',
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
