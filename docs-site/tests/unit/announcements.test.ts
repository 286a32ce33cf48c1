import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { maxElements, renderAnnouncements } from '../../src/theme/Announcements/document.ts';

const origin = 'https://site.example';
const render = (markdown: string) => renderAnnouncements(markdown, `${origin}/news/now.md`, origin);
const linkTo = (url: string, text = url) => {
  const href = url.replaceAll('&', '&amp;');
  return `<a href="${href}" target="_blank" rel="noopener noreferrer">${text.replaceAll('&', '&amp;')}</a>`;
};

describe('announcements: rendering', () => {
  test('the title of the document is removed, and a second title becomes an h2', () => {
    assert.equal(render('\uFEFF# お知らせ'), '');
    assert.equal(render('# お知らせ\n\n[a]: b\n'), '');
    assert.equal(render('## 見出し'), '<h2>見出し</h2>');
    assert.equal(render('# 一\n\n# 二'), '<h2>二</h2>');
  });
  test('emphasis next to Japanese brackets and punctuation is rendered', () => {
    assert.equal(
      render('これは**「重要」**です。~~「古い」~~です。'),
      '<p>これは<strong>「重要」</strong>です。<del>「古い」</del>です。</p>',
    );
  });
  for (const [written, url, rest] of [
    ['https://example.com/をご覧', 'https://example.com/', 'をご覧'],
    ['https://example.com/a_(b)。', 'https://example.com/a_(b)', '。'],
    ['https://example.com/a). b', 'https://example.com/a', '). b'],
    ['https://example.com/?a=1&b_c_d, b', 'https://example.com/?a=1&b_c_d', ', b'],
  ] as const) {
    test(`the address in "${written}" becomes a link`, () => {
      assert.equal(render(written), `<p>${linkTo(url)}${rest}</p>`);
    });
  }
  test('an address in a link, in code or in a word does not become a link', () => {
    assert.equal(
      render('[https://a.example/あ](https://b.example) `https://a.example` xhttps://a.example'),
      `<p>${linkTo('https://b.example/', 'https://a.example/あ')} <code>https://a.example</code> xhttps://a.example</p>`,
    );
  });
  test('HTML is text, and Markdown within it is rendered', () => {
    assert.equal(
      render('<div onclick="a()">*b*</div>'),
      '<p>&lt;div onclick=&quot;a()&quot;&gt;<em>b</em>&lt;/div&gt;</p>',
    );
  });
  test('the first of two definitions is used, also from a quote; a reference without definition is text', () => {
    assert.match(
      render('> [a]: /first\n\n[A]: /second\n\n[a] ![*x*][a] [b]'),
      /<p><a href="\/first">a<\/a> <img src="\/first" alt="x" loading="lazy"> \[b\]<\/p>$/,
    );
  });
  // protects against site/announcement-html
  test('an address cannot end its attribute and has an allowed scheme', () => {
    for (const address of [
      'javascript:alert(1)',
      'JaVaScRiPt:alert(1)',
      'java&#10;script:alert(1)',
      'data:text/html,x',
      'vbscript:x',
      'irc://a',
      'http://[',
    ])
      assert.equal(render(`[x](<${address}>) ![y](<${address}>)`), '<p>x y</p>', address);
    assert.equal(render('![y](mailto:a@b.example)'), '<p>y</p>');
    for (const address of ['https://a/"onclick="b', 'https://a/&quot;onclick=&quot;b', "https://a/'%3Cb%3E"])
      assert.match(
        render(`[x](<${address}>)`),
        /^<p><a href="https:\/\/a\/[^"<>]*" target="_blank" rel="noopener noreferrer">x<\/a><\/p>$/,
        address,
      );
    assert.match(
      render('![a"onload="b<i>](x.png)'),
      /^<p><img src="\/news\/x\.png" alt="[^"<>]*" loading="lazy"><\/p>$/,
    );
  });
  for (const [name, document] of [
    ['paragraphs', 'a\n\n'.repeat(2000)],
    ['items of many lists', '- a\n\n* a\n\n'.repeat(900)],
    ['links', '[a](b)'.repeat(2000)],
    ['cells', `${'|a'.repeat(40)}\n${'|-'.repeat(40)}\n${'|*a*\n'.repeat(1000)}`],
    ['quotes', `${'>'.repeat(2000)}a`],
  ] as const) {
    test(`a document with too many ${name} is shown as Markdown source`, () => {
      const html = render(document);
      assert.equal(
        html,
        `<pre class="code code__pre" tabindex="0"><code>${document.replaceAll('>', '&gt;')}</code></pre>`,
      );
    });
  }
  test('a document with the maximum number of elements is rendered', () => {
    assert.equal(render('a\n\n'.repeat(maxElements)).match(/<p>/g)?.length, maxElements);
  });
});
