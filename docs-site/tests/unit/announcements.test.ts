import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { deepest, mostElements, type Node, readAnnouncements } from '../../src/theme/Announcements/tree.ts';

const childrenOf = (node: Node): readonly Node[] => ('children' in node ? node.children : []);
const all = (nodes: readonly Node[]): Node[] => nodes.flatMap((one) => [one, ...all(childrenOf(one))]);
const textOf = (nodes: readonly Node[]): string =>
  all(nodes)
    .map((one) => ('value' in one ? one.value : ''))
    .join('');
const depthOf = (nodes: readonly Node[]): number =>
  nodes.reduce((most, one) => Math.max(most, 1 + depthOf(childrenOf(one))), 0);
const paragraph = (markdown: string): readonly Node[] => {
  const [first, ...others] = readAnnouncements(markdown);
  assert.equal(others.length, 0);
  assert.equal(first?.type, 'paragraph');
  return first ? childrenOf(first) : [];
};
const text = (value: string): Node => ({ type: 'text', value });

describe('announcements: the tree', () => {
  test('the document’s own title is left out', () => {
    assert.deepEqual(readAnnouncements('\uFEFF# お知らせ'), []);
    assert.deepEqual(readAnnouncements('# お知らせ\n\n[a]: b\n'), []);
    assert.equal(readAnnouncements('## 見出し')[0]?.type, 'heading');
  });
  test('marks next to Japanese brackets and stops are marks', () => {
    assert.deepEqual(paragraph('これは**「重要」**です。~~「古い」~~です。'), [
      text('これは'),
      { type: 'strong', children: [text('「重要」')] },
      text('です。'),
      { type: 'delete', children: [text('「古い」')] },
      text('です。'),
    ]);
  });
  for (const [written, url, rest] of [
    ['https://example.com/をご覧', 'https://example.com/', 'をご覧'],
    ['https://example.com/a_(b)。', 'https://example.com/a_(b)', '。'],
    ['https://example.com/a). b', 'https://example.com/a', '). b'],
    ['https://example.com/?a=1&b_c_d, b', 'https://example.com/?a=1&b_c_d', ', b'],
  ] as const) {
    test(`the address in "${written}"`, () => {
      assert.deepEqual(paragraph(written), [{ type: 'link', url, children: [text(url)] }, text(rest)]);
    });
  }
  test('an address in a link, in code or in a word is no link of its own', () => {
    assert.deepEqual(
      paragraph('[https://a.example](https://b.example) `https://a.example` xhttps://a.example'),
      [
        { type: 'link', url: 'https://b.example', children: [text('https://a.example')] },
        text(' '),
        { type: 'inlineCode', value: 'https://a.example' },
        text(' xhttps://a.example'),
      ],
    );
  });
  test('HTML is text, and markdown within it is markdown', () => {
    assert.deepEqual(paragraph('<div onclick="a()">*b*</div>'), [
      text('<div onclick="a()">'),
      { type: 'emphasis', children: [text('b')] },
      text('</div>'),
    ]);
  });
  test('of two definitions the first counts, also in a quote; without one it is text', () => {
    const [, ...rest] = readAnnouncements('> [a]: first\n\n[A]: second\n\n[a] ![*x*][a] [b]');
    assert.deepEqual(rest, [
      {
        type: 'paragraph',
        children: [
          { type: 'link', url: 'first', children: [text('a')] },
          text(' '),
          { type: 'image', url: 'first', alt: 'x' },
          text(' [b]'),
        ],
      },
    ]);
  });
  for (const [name, document] of [
    ['paragraphs', 'a\n\n'.repeat(2000)],
    ['headings', '# a\n'.repeat(2000)],
    ['items', '- a\n'.repeat(2000)],
    ['items of many lists', '- a\n\n* a\n\n'.repeat(900)],
    ['links', '[a](b)'.repeat(2000)],
    ['addresses', 'http://a '.repeat(2000)],
    ['code', '`a` '.repeat(2000)],
    ['columns', `${'|a'.repeat(2000)}\n${'|-'.repeat(2000)}\n`],
    ['cells', `${'|a'.repeat(40)}\n${'|-'.repeat(40)}\n${'|*a*\n'.repeat(1000)}`],
    ['items in quotes', '> - > - > a\n\n'.repeat(1000)],
  ] as const) {
    test(`of too many ${name} the rest is text, and nothing is lost`, () => {
      const nodes = readAnnouncements(`x\n\n${document}`);
      const elements = all(nodes).filter((one) => one.type !== 'text');
      // The rest is one paragraph for each level.
      assert.ok(elements.length <= mostElements + deepest + 1, `${elements.length}`);
      assert.ok(all(nodes).length <= 3 * (mostElements + deepest + 1));
      const letters = (written: string) => written.replaceAll(/[^ax]/g, '').length;
      assert.ok(letters(textOf(nodes)) >= letters(document.replaceAll(/\]\(b\)/g, '')));
    });
  }
  for (const [name, document] of [
    ['quotes', `${'>'.repeat(100)}a`],
    ['lists', `${'- * '.repeat(50)}a`],
    ['marks', `${'*'.repeat(100)}a${'*'.repeat(100)}`],
    ['marks in quotes', `${'>'.repeat(6)}${'*'.repeat(100)}a${'*'.repeat(100)}`],
  ] as const) {
    test(`${name} nested too deep are text`, () => {
      const nodes = readAnnouncements(document);
      // An item lies between two lists; a paragraph and its text are last.
      assert.ok(depthOf(nodes) <= 2 * deepest + 2, `${depthOf(nodes)}`);
      assert.match(textOf(nodes), /a/);
    });
  }
});
