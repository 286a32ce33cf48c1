import assert from 'node:assert/strict';
import { cpSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { readFrontMatter } from '../../build/front-matter.ts';
import { guideComponents } from '../../build/guide-rules.ts';
import { markdownOf } from '../../build/guides.ts';
import { createHighlight, type Highlight } from '../../build/highlight.ts';
import { compileGuide } from '../../build/mdx.ts';
import { loadApi } from '../../build/openapi.ts';
import { llms, sitemap, writeOutputs } from '../../build/outputs.ts';
import { loadModule, loadRenderer } from '../../build/renderer.ts';
import { readSettings } from '../../build/settings.ts';
import { buildSite, type Site } from '../../build/site.ts';
import { exampleValues } from '../../build/values.ts';
import { divideByHeadings, joinLines, plainText, renderMarkdown } from '../../src/markdown.ts';

const root = resolve(import.meta.dirname, '../..');
const settings = readSettings({});
let folder: string;
let highlight: Highlight;

before(async () => {
  folder = mkdtempSync(join(tmpdir(), 'site-content-'));
  highlight = await createHighlight(exampleValues(settings));
});
after(() => rmSync(folder, { recursive: true, force: true }));

const write = (path: string, text: string) => {
  mkdirSync(dirname(join(folder, path)), { recursive: true });
  writeFileSync(join(folder, path), text);
};
const front = (extra = '', title = 'T', position = 1) =>
  `---\ntitle: ${title}\nposition: ${position}\ndescription: d\n${extra}---\n`;

describe('the Markdown version of a guide', () => {
  const words = { note: '補足', tip: 'ヒント', warning: '注意', danger: '重要' };
  const markdown = (body: string) =>
    markdownOf({ data: { title: 'T', position: 1, description: 'd' }, source: front() + body }, String, words)
      .split('\n')
      .slice(4)
      .join('\n');

  test('keeps the titles and the addresses of cards', () => {
    assert.equal(
      markdown('<Cards>\n\n<Card to="/docs/x" title="概要">\n\n説明\n\n</Card>\n\n</Cards>\n'),
      '### [概要](/docs/x)\n\n説明\n',
    );
  });
  test('keeps the title of a box, or uses the name of its type', () => {
    const box = (attributes: string) => markdown(`<Admonition ${attributes}>\n\n文\n\n</Admonition>\n`);
    assert.equal(box('type="danger" title="鍵"'), '**鍵**\n\n文\n');
    assert.equal(box('type="warning"'), '**注意**\n\n文\n');
  });
  test('contains the alt text of a picture and the title of a drawing', () => {
    assert.equal(markdown('<Figure src="/a.png" alt="図" caption="説明" />\n'), '![図](/a.png)\n\n説明\n');
    assert.equal(
      markdown(
        '<figure className="figure">\n  <svg viewBox="0 0 1 1">\n    <title id="t">図</title>\n    <text x="1">語</text>\n  </svg>\n  <figcaption>説明</figcaption>\n</figure>\n',
      ),
      '図\n\n説明\n',
    );
  });
  test('keeps the anchors of headings', () => {
    assert.equal(markdown('## 見出し {#id}\n\n文\n'), '## 見出し {#id}\n\n文\n');
  });
  test('does not change code, and keeps a blank line after a heading', () => {
    const code = '```js title="a" sample="b"\n<Card to="/x" title="y">\n## h {#id}\n```\n';
    assert.equal(markdown(`## 見出し\n\n${code}`), `## 見出し\n\n${code.replace(/ title.*/, '')}`);
  });
  test('contains no markup of components in any guide', async () => {
    const { pages } = await buildSite({ root, settings, drafts: true });
    const guides = pages.filter(({ page }) => page.kind === 'guide');
    assert.ok(guides.length > 5);
    for (const { page, markdown: text } of guides) {
      const prose = text.replace(/^(`{3,})[^\n]*\n[\s\S]*?^\1$/gm, '').replace(/`[^`\n]+`/g, '');
      assert.doesNotMatch(prose, /<\/?[A-Za-z]/, page.route);
    }
  });
});

describe('front matter', () => {
  const cases: readonly [string, string, RegExp][] = [
    ['missing front matter', '## a\n', /^f:1: the front matter is missing/],
    ['a missing title', '---\nposition: 1\ndescription: d\n---\n', /^f:1: "title" is missing/],
    ['an unknown key', front('colour: red\n'), /^f:5: unknown key "colour"/],
    [
      'a wrong type',
      '---\ntitle: T\nposition: one\ndescription: d\n---\n',
      /^f:3: "position" must be a number/,
    ],
    ['a list of keywords', front('keywords: [a, b]\n'), /^f:5: "keywords" must be a map of texts/],
    ['a number as keyword', front('keywords:\n  page: 400\n'), /^f:5: "keywords" must be a map of texts/],
    ['invalid YAML', '---\ntitle: "T\nposition: 1\n---\n', /^f:\d+: /],
  ];
  for (const [name, source, expected] of cases) {
    test(`${name} stops the build with file, line and reason`, () => {
      assert.throws(() => readFrontMatter('f', source), { message: expected });
    });
  }
  test('the body keeps its line numbers', () => {
    assert.equal(readFrontMatter('f', `${front()}text`).body.split('\n').indexOf('text'), 5);
  });
});

describe('guides', () => {
  const compile = (body: string) => compileGuide('f.mdx', body, highlight);
  test('the table of contents has headings of levels 2 and 3, with Japanese and explicit anchors', async () => {
    const { toc } = await compile('## 見出し\n\n### 部分 {#part}\n\n#### 深い\n');
    assert.deepEqual(toc, [
      { id: '見出し', text: '見出し', level: 2 },
      { id: 'part', text: '部分', level: 3 },
    ]);
  });
  test('a duplicate anchor stops the build with both lines', async () => {
    await assert.rejects(compile('## a {#x}\n\n## b {#x}\n'), {
      message: 'f.mdx:3: the anchor #x is already used in line 1',
    });
  });
  test('a duplicate anchor in a figure stops the build with both lines', async () => {
    await assert.rejects(compile('## a {#x}\n\n<svg>\n<title id="x">a</title>\n</svg>\n'), {
      message: 'f.mdx:4: the anchor #x is already used in line 1',
    });
  });
  test('an h1 stops the build', async () => {
    await assert.rejects(compile('# a\n'), { message: /^f\.mdx:1: the h1 comes from the title/ });
  });
  test('a syntax error has file and line', async () => {
    await assert.rejects(compile('a\n\n<Broken\n'), { message: /^f\.mdx:\d+: / });
  });
  test('an unknown language, key or value of a code block stops the build', async () => {
    await assert.rejects(compile('```cobol\nx\n```\n'), { message: /^f\.mdx:1: code language "cobol"/ });
    await assert.rejects(compile('a\n\n```bash nonsense="1"\nx\n```\n'), {
      message: /^f\.mdx:3: unknown key "nonsense"/,
    });
    await assert.rejects(compile('```bash\n{{nobody}}\n```\n'), {
      message: /\{\{nobody\}\} is not a reader value/,
    });
    await assert.rejects(compile('```bash norun=""\nx\n```\n'), {
      message: /"norun" of the code block is empty/,
    });
  });
  const rejected: readonly [string, RegExp][] = [
    ['<script>alert(1)</script>', /^f\.mdx:3: <script> is not allowed in a guide/],
    ['text <img src="x" onError="alert(1)" />', /^f\.mdx:3: <img> is not allowed/],
    ['<iframe src="https://other.example" />', /^f\.mdx:3: <iframe> is not allowed/],
    ['<CodeBlock language="bash" html="<script>" />', /^f\.mdx:3: <CodeBlock> is not allowed/],
    ['<Nope />', /^f\.mdx:3: <Nope> is not allowed in a guide \(components: Admonition, /],
    ['<a.b />', /^f\.mdx:3: <a\.b> is not allowed/],
    ['<details>\n<b>x</b>\n</details>', /^f\.mdx:4: <b> is not allowed/],
    ['<svg onLoad="alert(1)" />', /^f\.mdx:3: "onLoad" is not allowed on <svg>/],
    ['<svg onload="alert(1)" />', /^f\.mdx:3: "onload" is not allowed on <svg>/],
    ['<svg style="color: red" />', /^f\.mdx:3: "style" is not allowed on <svg>/],
    ['<g dangerouslySetInnerHTML="x" />', /^f\.mdx:3: "dangerouslySetInnerHTML" is not allowed on <g>/],
    ['<svg width={1} />', /^f\.mdx:3: "width" of <svg> must be a text in quotes/],
    ['<svg {...props} />', /^f\.mdx:3: an expression is not allowed on <svg>/],
    ['<Card to="/docs" titel="x" />', /^f\.mdx:3: "titel" is not allowed on <Card> \(known: to, title\)/],
    ['<Card to="/docs" />', /^f\.mdx:3: "title" is missing on <Card>/],
    ['<Card to="" title="x" />', /^f\.mdx:3: "to" is missing on <Card>/],
    ['{undefined.x}', /^f\.mdx:3: \{undefined\.x\}: an expression is not allowed in a guide/],
    ['text {1 + 1}', /^f\.mdx:3: \{1 \+ 1\}: an expression/],
    ['{<script>alert(1)</script>}', /^f\.mdx:3: .*: an expression/],
    ['export const x = 1', /^f\.mdx:3: import and export are not allowed/],
    ['{{apiUrl}}', /^f\.mdx:3: \{\{apiUrl\}\}: reader values are allowed in code blocks only/],
    ['{{nobody}}', /^f\.mdx:3: \{\{nobody\}\}: reader values are allowed in code blocks only/],
    ['text `{{nobody}}`', /^f\.mdx:3: \{\{nobody\}\}: reader values are allowed/],
    ['```bash title="{{apiUrl}}"\nx\n```', /^f\.mdx:3: \{\{apiUrl\}\}: reader values/],
    ['[x]({{nobody}})', /^f\.mdx:3: \{\{nobody\}\}: reader values are allowed/],
  ];
  for (const [body, expected] of rejected) {
    test(`${JSON.stringify(body)} stops the build with file, line and reason`, async () => {
      await assert.rejects(compile(`before\n\n${body}\n`), (error: Error) => {
        assert.match(error.message, expected);
        assert.equal(error.message.split('\n').length, 1);
        return true;
      });
    });
  }
  test('an error of a component has the line of the component', async () => {
    const { Content } = await compile(
      'before\n\n<Steps>\n\n<Admonition type="bad">\n\nx\n\n</Admonition>\n\n</Steps>\n',
    );
    const { renderGuide } = await loadRenderer(root);
    assert.throws(() => renderGuide(Content as Parameters<typeof renderGuide>[0]), {
      message: /^f\.mdx:5: <Admonition type="bad">: the type must be one of note/,
    });
  });
  test('the allowed components of guides are the components of src/content', async () => {
    const { components } = await loadModule<typeof import('../../src/content/index.tsx')>(
      root,
      'src/content/index.tsx',
    );
    // Guides write code blocks as Markdown, so that the code is escaped.
    const names = Object.keys(components).filter((name) => /^[A-Z]/.test(name) && name !== 'CodeBlock');
    assert.deepEqual(Object.keys(guideComponents).sort(), names.sort());
  });
  test('a reader value becomes a span that the page fills', () => {
    const html = highlight("curl '{{apiUrl}}/x'", 'bash');
    assert.match(
      html,
      /<span class="value" data-value="apiUrl">https:\/\/api\.headset-cloud\.example<\/span>\/x/,
    );
  });
  test('code is escaped', () => {
    assert.doesNotMatch(highlight('<script>alert(1)</script>', 'text'), /<script>/);
  });
});

describe('descriptions', () => {
  // protects against site/announcement-html
  test('HTML is shown as text', () => {
    const html = renderMarkdown('a <script>alert(1)</script> b\n\n<img src=x onerror=alert(1)>\n');
    assert.doesNotMatch(html, /<script|<img/);
    assert.match(html, /&lt;script&gt;/);
  });
  // protects against site/announcement-html
  test('dangerous addresses do not become links', () => {
    for (const address of [
      'javascript:alert(1)',
      'JaVaScRiPt:alert(1)',
      'data:text/html,x',
      'vbscript:x',
      '//evil.example',
    ]) {
      assert.doesNotMatch(renderMarkdown(`[x](${address})`), /href/, address);
    }
    assert.match(renderMarkdown('[x](/docs)'), /<a href="\/docs">x<\/a>/);
  });
  test('line breaks are removed in Japanese text only', () => {
    for (const [text, joined] of [
      ['日本\n語', '日本語'],
      ['a\nb', 'a\nb'],
      ['- 終わり。\n  GET は\n  `a` で\n  す', '- 終わり。GET は\n  `a` です'],
      ['> 引用。\n> 続き', '> 引用。\n> 続き'],
      ['改行  \n改行', '改行  \n改行'],
      ['## 題\n本文', '## 題\n本文'],
      ['```\n日本\n語\n```', '```\n日本\n語\n```'],
      ['|列|\n|-|\n|値|\n|値|', '|列|\n|-|\n|値|\n|値|'],
    ] as const)
      assert.equal(joinLines(text), joined);
  });
  test('a text is split at headings of level 2, not at those in code', () => {
    assert.deepEqual(divideByHeadings('前\n\n## 一 ##\n\n文\n\n### 中\n\n```\n## 二\n```\n\n> ## 三\n'), [
      { title: '', text: '前' },
      { title: '一', text: '文\n\n### 中\n\n```\n## 二\n```\n\n> ## 三' },
    ]);
  });
  test('headings get the given level, at most 6', () => {
    const heading = (level: number) => level + 1;
    assert.equal(renderMarkdown('## a\n###### b', { heading }), '<h3>a</h3>\n<h6>b</h6>');
  });
  test('the plain text has no Markdown syntax', () => {
    assert.equal(plainText(renderMarkdown('**a** `b<c>&d`、[e](/f)。\n\n- g_h')), 'a b<c>&d、e。g_h');
  });
});

describe('drafts and unlisted pages', () => {
  let production: Site;
  let development: Site;
  before(async () => {
    write('content/docs/index.mdx', front('', 'Root', 0));
    write('content/docs/listed.mdx', `${front('', 'Listed', 1)}## 見出し\n\n普通の文\n`);
    write('content/docs/hidden.mdx', `${front('unlisted: true\n', 'Hidden', 2)}隠れた文\n`);
    write('content/docs/draft.mdx', `${front('draft: true\n', 'Draft', 3)}下書きの文\n`);
    write('content/docs/last.mdx', front('', 'Last', 4));
    const options = { root, settings, content: join(folder, 'content') };
    production = await buildSite({ ...options, drafts: false });
    development = await buildSite({ ...options, drafts: true });
  });
  const routes = (site: Site) => site.pages.map(({ page }) => page.route);
  // proves site/draft
  test('a draft is not in the production build, and is marked in the development server', () => {
    assert.ok(!routes(production).includes('/docs/draft'));
    assert.equal(development.pages.find(({ page }) => page.route === '/docs/draft')?.page.draft, true);
    assert.doesNotMatch(JSON.stringify(production), /下書きの文/);
  });
  // proves site/unlisted
  test('an unlisted page is built, but not in sidebar, paginator, search, sitemap and llms.txt', () => {
    const page = production.pages.find((one) => one.page.route === '/docs/hidden')?.page;
    assert.equal(page?.unlisted, true);
    assert.deepEqual([page?.previous, page?.next], [undefined, undefined]);
    for (const { page: other } of production.pages) {
      assert.doesNotMatch(
        JSON.stringify([other.sidebar, other.previous ?? null, other.next ?? null]),
        /hidden/,
      );
    }
    assert.doesNotMatch(JSON.stringify(production.search), /hidden|隠れた/);
    assert.doesNotMatch(sitemap(production, settings) + llms(production, settings), /hidden/i);
    assert.match(sitemap(production, settings) + llms(production, settings), /\/docs\/listed/);
  });
  test('the paginator skips unlisted pages', () => {
    const listed = production.pages.find((one) => one.page.route === '/docs/listed')?.page;
    assert.equal(listed?.next?.href, '/docs/last');
  });
  test('the list of written files contains no drafts and no deleted pages', () => {
    const output = join(folder, 'public');
    write('announcements-root/content/announcements/production.md', 'news');
    const written = writeOutputs(production, settings, join(folder, 'announcements-root'), output);
    assert.deepEqual(
      written.filter((file) => /\.md$/.test(file)).sort(),
      [
        ...['/announcements/production.md', '/apis/v1/cws_api.md', '/apis/v1/cws_notification.md'],
        ...[
          '/apis/v1/cws_extension.md',
          '/apis/v1/cws_presigned_url.md',
          '/docs.md',
          '/docs/hidden.md',
          '/docs/last.md',
          '/docs/listed.md',
          '/index.md',
          '/information.md',
        ],
      ].sort(),
    );
    for (const file of written) assert.ok(existsSync(join(output, file)), file);
    assert.ok(written.some((file) => /^\/fragments\/docs-listed\.[0-9a-f]{10}\.txt$/.test(file)));
  });
  test('home page and announcements have Markdown versions, which llms.txt lists', () => {
    write('markdown-root/content/announcements/production.md', 'news');
    const output = join(folder, 'markdown');
    writeOutputs(production, settings, join(folder, 'markdown-root'), output);
    const home = readFileSync(join(output, 'index.md'), 'utf8');
    assert.match(home, /^# Headset Cloud ガイド\n\n.*サーバーから動かす。\n/);
    for (const route of ['/docs/introduction/about', '/apis/v1/cws_api', '/apis/v1/cws_notification'])
      assert.ok(home.includes(`](${route}): `), route);
    assert.match(
      readFileSync(join(output, 'information.md'), 'utf8'),
      /^# お知らせ\n\n.*お知らせです。\n\n.*\[\/announcements\/production\.md\]\(\/announcements\/production\.md\)\n$/,
    );
    const named = llms(production, settings);
    for (const markdown of ['index.md', 'information.md'])
      assert.ok(named.includes(`](${settings.siteUrl}/${markdown}): `), markdown);
  });
  test('two pages with the same position stop the build', async () => {
    write('clash/docs/a.mdx', front());
    write('clash/docs/b.mdx', front());
    await assert.rejects(
      buildSite({ root, settings, drafts: false, content: join(folder, 'clash') }),
      /^Error: docs\/b\.mdx:3: position 1 is taken by docs\/a\.mdx$/,
    );
  });
  test('keywords without a search record stop the build with file and line', async () => {
    write('keywords/docs/a.mdx', `${front('keywords:\n  page: 別名\n  nowhere: 語\n')}文\n`);
    await assert.rejects(
      buildSite({ root, settings, drafts: false, content: join(folder, 'keywords') }),
      /^Error: docs\/a\.mdx:7: "keywords" name \/docs\/a#nowhere, which is not in the search index$/,
    );
  });
  test('an unknown component stops the build with the file', async () => {
    write('unknown/docs/a.mdx', `${front()}<Nobody />\n`);
    await assert.rejects(
      buildSite({ root, settings, drafts: false, content: join(folder, 'unknown') }),
      /^Error: docs\/a\.mdx:6: <Nobody> is not allowed/,
    );
  });
});

describe('OpenAPI documents', () => {
  const openapi = resolve(root, '../gateway/openapi');
  const head = 'openapi: 3.1.0\ninfo: { title: t, version: "1" }\n';
  const load = (name: string, text: string) => {
    write(`${name}/cws_api.yaml`, text);
    return loadApi(join(folder, name), 'cws_api');
  };
  test('an unresolved reference stops the build with file, line and reason', async () => {
    const text = `${head}paths:\n  /a:\n    get:\n      operationId: a\n      summary: s\n      responses:\n        "200": { $ref: "#/components/responses/None" }\n`;
    await assert.rejects(load('unresolved', text), /cws_api\.yaml:9: Can't resolve/);
  });
  test('a document that is not OpenAPI stops the build', async () => {
    await assert.rejects(load('invalid', `${head}paths: 5\n`), /cws_api\.yaml:3: /);
  });
  test('an example that does not match its schema stops the build', async () => {
    const text = `${head}paths:\n  /a:\n    get:\n      operationId: a\n      summary: s\n      responses:\n        "200":\n          description: d\n          content:\n            application/json:\n              schema: { type: integer }\n              example: text\n`;
    await assert.rejects(load('example', text), /cws_api\.yaml:14: Example value must conform to the schema/);
  });
  test('the documents of the project are valid', async () => {
    cpSync(openapi, join(folder, 'own'), { recursive: true });
    const { document } = await loadApi(join(folder, 'own'), 'cws_notification');
    assert.equal(Object.keys(document.webhooks ?? {}).length, 25);
  });
});

describe('settings', () => {
  const cases: readonly [Record<string, string>, RegExp][] = [
    [{ SITE_ENVIRONMENT: 'test' }, /SITE_ENVIRONMENT: "test" is not one of production, staging, development/],
    [{ SITE_URL: 'docs' }, /SITE_URL: "docs" is not an address/],
    [{ SITE_API_URL: 'ftp://x' }, /SITE_API_URL: .* must begin with http/],
    [{ SITE_NAME: ' ' }, /SITE_NAME: 1 to 80 characters/],
    [
      { SITE_URL: 'https://docs.example?x=1' },
      /SITE_URL: "https:\/\/docs\.example\?x=1" must have no query and no hash/,
    ],
    [{ SITE_URL: 'https://docs.example/#a' }, /SITE_URL: .* must have no query and no hash/],
    [{ SITE_URL: 'https://docs.example/?' }, /SITE_URL: .* must have no query and no hash/],
    [{ SITE_URL: 'https://docs.example/a\nb' }, /SITE_URL: .*a\\nb" contains a space, a quote, \$/],
    [{ SITE_URL: 'https://docs.example/a b' }, /SITE_URL: .* contains a space/],
    [
      { SITE_API_URL: 'https://user:secret@api.example' },
      /SITE_API_URL: the address must have no user and no password$/,
    ],
    [
      { SITE_API_URL: 'https://user@api.example' },
      /SITE_API_URL: the address must have no user and no password$/,
    ],
    [{ SITE_API_URL: "https://api.example/'$(id)" }, /SITE_API_URL: .* contains a space, a quote/],
    [{ SITE_API_URL: 'https://api.example/$HOME' }, /SITE_API_URL: .* contains a space, a quote, \$/],
    [{ SITE_TOKEN_URL: 'https://auth.example/`id`' }, /SITE_TOKEN_URL: .* contains a space, a quote/],
    [{ SITE_TOKEN_URL: 'https://auth.example/"' }, /SITE_TOKEN_URL: .* contains a space, a quote/],
    [{ SITE_TOKEN_URL: 'https://auth.example/a\\b' }, /SITE_TOKEN_URL: .* contains a space, a quote/],
    [{ SITE_TOKEN_URL: 'https:/auth.example' }, /SITE_TOKEN_URL: .* must begin with http/],
    [{ SITE_INQUIRY_URL: 'https://' }, /SITE_INQUIRY_URL: .* is not an address/],
    [
      { SITE_ANNOUNCEMENTS_URL_PRODUCTION: '/\\evil.example/x.md' },
      /SITE_ANNOUNCEMENTS_URL_PRODUCTION: .* contains a space/,
    ],
    [
      { SITE_ANNOUNCEMENTS_URL_PRODUCTION: '/a/../b.md' },
      /SITE_ANNOUNCEMENTS_URL_PRODUCTION: .* is not a path/,
    ],
    [
      { SITE_ANNOUNCEMENTS_URL_STAGING: 'nonsense' },
      /SITE_ANNOUNCEMENTS_URL_STAGING: "nonsense" is not an address/,
    ],
    [
      { SITE_ANNOUNCEMENTS_URL_DEVELOPMENT: 'ftp://x' },
      /SITE_ANNOUNCEMENTS_URL_DEVELOPMENT: .* must begin with/,
    ],
    [{ SITE_PORT: 'abc' }, /SITE_PORT: "abc" is not a port/],
    [{ SITE_PORT: '65536' }, /SITE_PORT: "65536" is not a port/],
    [{ SITE_NAME: 'a\nb' }, /SITE_NAME: .* one line/],
    [{ SITE_COLOUR: 'red' }, /SITE_COLOUR: unknown setting/],
    [{ SITE_ANNOUNCEMENTS_URL_PRODUCTION: '//other.example' }, /SITE_ANNOUNCEMENTS_URL_PRODUCTION/],
  ];
  for (const [env, expected] of cases) {
    test(`${JSON.stringify(env)} is rejected`, () => {
      assert.throws(() => readSettings(env), expected);
    });
  }
  test('an address is normalized as in a browser, without surrounding spaces and a slash at its end', () => {
    const read = (SITE_URL: string) => readSettings({ SITE_URL }).siteUrl;
    assert.equal(read(' https://Docs.Example/ '), 'https://docs.example');
    assert.equal(read('https://docs.example:443/base/'), 'https://docs.example/base');
    assert.equal(read('https://例え.example/文書'), 'https://xn--r8jz45g.example/%E6%96%87%E6%9B%B8');
    assert.equal(
      readSettings({ SITE_INQUIRY_URL: 'https://support.example/form?product=headset&lang=ja' }).inquiryUrl,
      'https://support.example/form?product=headset&lang=ja',
    );
  });
  test('the sitemap of a site address with & is valid XML', () => {
    const xml = sitemap(
      {
        pages: [],
        own: [{ route: '/information', title: 't', description: 'd', markdown: '' }],
        apis: [],
        search: [],
        sources: new Map(),
      },
      readSettings({ SITE_URL: 'https://docs.example/a&b' }),
    );
    assert.match(xml, /<loc>https:\/\/docs\.example\/a&amp;b\/information<\/loc>/);
  });
  // proves site/announcement-variants
  test('missing announcements stop the build', async () => {
    const wrong = readSettings({ SITE_ANNOUNCEMENTS_URL_PRODUCTION: '/nope.md' });
    const site = { pages: [], own: [], apis: [], search: [], sources: new Map() };
    write('announced/content/announcements/production.md', 'news');
    write('announced/static/news.md', 'news');
    const at = join(folder, 'announced');
    assert.throws(() => writeOutputs(site, wrong, at, join(folder, 'out')), {
      message:
        'SITE_ANNOUNCEMENTS_URL_PRODUCTION: "/nope.md" is not a file of the site (content/announcements, static)',
    });
    for (const url of ['/announcements/production.md', '/news.md', 'https://news.example/a.md']) {
      writeOutputs(site, readSettings({ SITE_ANNOUNCEMENTS_URL_PRODUCTION: url }), at, join(folder, 'out'));
    }
  });
  // proves site/announcement-variants
  test('each environment has separate announcements', () => {
    for (const environment of ['production', 'staging', 'development']) {
      assert.equal(
        readSettings({ SITE_ENVIRONMENT: environment }).announcementsUrl,
        `/announcements/${environment}.md`,
      );
    }
    const own = readSettings({
      SITE_ENVIRONMENT: 'staging',
      SITE_ANNOUNCEMENTS_URL_STAGING: 'https://news.example/a.md',
    });
    assert.equal(own.announcementsUrl, 'https://news.example/a.md');
    assert.equal(readSettings({}).environment, 'production');
  });
});

// proves site/strings
test('archive, author, tag and draft pages have strings', async () => {
  const { ja } = await loadRenderer(root);
  assert.deepEqual(
    [ja.archive.title, ja.archive.authors, ja.archive.tags],
    ['アーカイブ', '著者一覧', 'タグ'],
  );
  assert.equal(ja.notices.draft.title, '下書きのページ');
});

describe('the API references', () => {
  // proves site/api-reference
  // proves site/notification-reference
  // proves site/presigned-reference
  test('each document has a page with all of its calls', async () => {
    const { pages } = await buildSite({ root, settings, drafts: false });
    for (const [name, calls, title] of [
      ['cws_api', 34, /API/],
      ['cws_notification', 25, /通知/],
      ['cws_presigned_url', 3, /^User APIs requirements$/],
      ['cws_extension', 15, /拡張/],
    ] as const) {
      const built = pages.find(({ page }) => page.route === `/apis/v1/${name}`);
      assert.match(built?.page.title ?? '', title);
      const items = built?.page.sidebar.flatMap((one) => one.items).filter((one) => one.method) ?? [];
      assert.equal(items.length, calls, name);
      for (const { href } of items) assert.ok(built?.html.includes(`id="${href.slice(1)}"`), href);
    }
  });
});
