import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { checkLinks } from '../../build/check-links.ts';
import { readHtml } from '../../build/html.ts';

const siteUrl = 'https://docs.example';

/** Problems of a site of two pages, the first with the given body. */
function problems(body: string): string[] {
  const pages = new Map([
    ['/a/index.html', readHtml(`<html><body>${body}<p id="here">x</p></body></html>`)],
    ['/b/index.html', readHtml('<h2 id="章">y</h2>')],
  ]);
  const files = new Set([...pages.keys(), '/logo.svg', '/a.md']);
  return checkLinks(files, pages, siteUrl).map(
    ({ page, target, reason }) => `${page} → ${target}: ${reason}`,
  );
}

// proves site/broken-links
describe('broken links', () => {
  for (const good of [
    '<a href="/b">',
    '<a href="/b#章">',
    '<a href="/b#%E7%AB%A0">',
    '<a href="#here">',
    '<img src="/logo.svg">',
    '<a href="https://other.example/x">',
    '<a href="mailto:a@b.example">',
    '<a href="/a.md">',
    `<link href="${siteUrl}/b">`,
    '<a href="/b?x=1">',
  ]) {
    test(`${good} is whole`, () => assert.deepEqual(problems(good), []));
  }
  const broken: readonly [string, string][] = [
    ['<a href="/c">', '/a → /c: no such page or file'],
    ['<a href="/b/">', '/a → /b/: no such page (routes have no slash at the end)'],
    ['<a href="/b#none">', '/a → /b#none: no element with the id "none"'],
    ['<a href="#none">', '/a → #none: no element with the id "none"'],
    ['<img src="/none.png">', '/a → /none.png: no such page or file'],
    ['<img srcset="/logo.svg 1x, /none.png 2x">', '/a → /none.png: no such page or file'],
    ['<a href="">', '/a → : the address is empty'],
    [`<link href="${siteUrl}/c">`, `/a → ${siteUrl}/c: no such page or file`],
    ['<p id="here">', '/a → #here: the anchor stands twice on the page'],
  ];
  for (const [body, expected] of broken) {
    test(`${body} is named with its page`, () => assert.deepEqual(problems(body), [expected]));
  }
});

describe('facts of a page', () => {
  test('inline scripts and styles are hashed as the browser does, others are not', () => {
    const { scripts, styles } = readHtml(
      '<script>alert(1)</script><script src="/x.js"></script><style>a{b:c}</style>',
    );
    assert.deepEqual(scripts, ["'sha256-bhHHL3z2vDgxUt0W3dWQOrprscmda2Y5pLsLg4GF+pI='"]);
    assert.equal(styles.length, 1);
  });
});
