import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { checkLinks, lineOfAddress } from '../../build/check-links.ts';
import { readHtml } from '../../build/html.ts';

const siteUrl = 'https://docs.example';

/** Problems of a site of two pages; `body` is the content of the first page. */
function problems(body: string): string[] {
  const pages = new Map([
    ['/a/index.html', readHtml(`<html><body>${body}<p id="here">x</p></body></html>`, '')],
    ['/b/index.html', readHtml('<h2 id="章">y</h2>', '')],
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
    test(`${good} has no problem`, () => assert.deepEqual(problems(good), []));
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
    [
      '<a href="javascript:alert(1)">',
      '/a → javascript:alert(1): links begin with /, #, https:, http: or mailto:',
    ],
    ['<a href="JaVa&#9;script:alert(1)">', '/a → JaVa\tscript:alert(1): the address contains a space'],
    ['<img src="data:x">', '/a → data:x: links begin with /, #, https:, http: or mailto:'],
    ['<a>', '/a → : the address is empty'],
    ['<p id="here">', '/a → #here: the anchor is used twice on the page'],
  ];
  for (const [body, expected] of broken) {
    test(`${body} is reported with its page`, () => assert.deepEqual(problems(body), [expected]));
  }
});

describe('inline scripts and styles', () => {
  const head = 'alert(1)';
  const known = [
    `<script>${head}</script>`,
    '<script id="gatsby-script-loader">/*<![CDATA[*/window.pagePath="/docs/a";/*]]>*/</script>',
    '<script id="gatsby-chunk-mapping">\n  window.___chunkMapping="{\\"app\\":[\\"/app-1.js\\"]}";\n </script>',
    '<script>window.___webpackCompilationHash="d94e8e7ddbfb893787d4";</script>',
    '<style data-identity="gatsby-global-css">a{b:c}</style>',
  ];
  test('allowed inline scripts and styles have the hashes that the browser computes', () => {
    const { scripts, styles, violations } = readHtml(`${known.join('')}<script src="/x.js"></script>`, head);
    assert.equal(scripts.length, 4);
    assert.equal(scripts[0], "'sha256-bhHHL3z2vDgxUt0W3dWQOrprscmda2Y5pLsLg4GF+pI='");
    assert.equal(styles.length, 1);
    assert.deepEqual(violations, []);
  });
  test('JSON-LD needs no hash, because browsers do not run it', () => {
    const { scripts, violations } = readHtml('<script type="application/ld+json">{"a":1}</script>', head);
    assert.deepEqual([scripts, violations], [[], []]);
  });
  const unknown: readonly [string, string][] = [
    ['<script>alert(2)</script>', 'the inline script "alert(2)" is not allowed'],
    ['<script type="module">alert(2)</script>', 'the inline script "alert(2)" is not allowed'],
    [
      '<script>window.___webpackCompilationHash="d94e8e7ddbfb893787d4";alert(2)</script>',
      'the inline script "window.___webpackCompilationHash="d94e8e…" is not allowed',
    ],
    [
      '<script id="gatsby-script-loader">/*<![CDATA[*/window.pagePath="";alert(2);"";/*]]>*/</script>',
      'the inline script "/*<![CDATA[*/window.pagePath="";alert(2)…" is not allowed',
    ],
    ['<script type="application/ld+json">alert(2)</script>', 'the JSON-LD "alert(2)" is not JSON'],
    [
      '<script src="https://other.example/x.js"></script>',
      'the script is from another site: https://other.example/x.js',
    ],
    ['<script src="//other.example/x.js"></script>', 'the script is from another site: //other.example/x.js'],
    ['<style>a{b:c}</style>', 'the inline style "a{b:c}" is not allowed'],
    ['<img src="x" onerror="alert(1)">', 'the event attribute "onerror" on <img> is not allowed'],
  ];
  for (const [html, expected] of unknown) {
    test(`${html} is rejected`, () => {
      const { scripts, styles, violations } = readHtml(html, head);
      assert.deepEqual([scripts, styles, violations], [[], [], [expected]]);
    });
  }
});

test('the line of an address in the source of a page is found', () => {
  const text = 'a\n[x](/a/b) \n<Card to="/c" />\n[y](/あ)\n![z](/p.png "title")\n[r]: /r\n[x](/a)\n/plain';
  const line = (target: string) => lineOfAddress({ file: 'f', text }, target);
  assert.deepEqual(['/a/b', '/c', '/%E3%81%82', '/p.png', '/r', '/a', '/none', '/%'].map(line), [
    2,
    3,
    4,
    5,
    6,
    7,
    undefined,
    undefined,
  ]);
});
