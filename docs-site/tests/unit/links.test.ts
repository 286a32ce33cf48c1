import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { checkLinks, lineOfAddress } from '../../build/check-links.ts';
import { readHtml } from '../../build/html.ts';

const siteUrl = 'https://docs.example';

/** Problems of a site of two pages, the first with the given body. */
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
    [
      '<a href="javascript:alert(1)">',
      '/a → javascript:alert(1): links begin with /, #, https:, http: or mailto:',
    ],
    ['<a href="JaVa&#9;script:alert(1)">', '/a → JaVa\tscript:alert(1): the address holds a space'],
    ['<img src="data:x">', '/a → data:x: links begin with /, #, https:, http: or mailto:'],
    ['<a>', '/a → : the address is empty'],
    ['<p id="here">', '/a → #here: the anchor stands twice on the page'],
  ];
  for (const [body, expected] of broken) {
    test(`${body} is named with its page`, () => assert.deepEqual(problems(body), [expected]));
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
  test('the known ones are hashed as the browser does, others are not', () => {
    const { scripts, styles, refused } = readHtml(`${known.join('')}<script src="/x.js"></script>`, head);
    assert.equal(scripts.length, 4);
    assert.equal(scripts[0], "'sha256-bhHHL3z2vDgxUt0W3dWQOrprscmda2Y5pLsLg4GF+pI='");
    assert.equal(styles.length, 1);
    assert.deepEqual(refused, []);
  });
  test('JSON-LD is data: no policy asks for its hash', () => {
    const { scripts, refused } = readHtml('<script type="application/ld+json">{"a":1}</script>', head);
    assert.deepEqual([scripts, refused], [[], []]);
  });
  const unknown: readonly [string, string][] = [
    ['<script>alert(2)</script>', 'the build does not know the inline script "alert(2)"'],
    ['<script type="module">alert(2)</script>', 'the build does not know the inline script "alert(2)"'],
    [
      '<script>window.___webpackCompilationHash="d94e8e7ddbfb893787d4";alert(2)</script>',
      'the build does not know the inline script "window.___webpackCompilationHash="d94e8e…"',
    ],
    [
      '<script id="gatsby-script-loader">/*<![CDATA[*/window.pagePath="";alert(2);"";/*]]>*/</script>',
      'the build does not know the inline script "/*<![CDATA[*/window.pagePath="";alert(2)…"',
    ],
    ['<script type="application/ld+json">alert(2)</script>', 'the JSON-LD "alert(2)" is no JSON'],
    [
      '<script src="https://other.example/x.js"></script>',
      'a script of another site: https://other.example/x.js',
    ],
    ['<script src="//other.example/x.js"></script>', 'a script of another site: //other.example/x.js'],
    ['<style>a{b:c}</style>', 'the build does not know the inline style "a{b:c}"'],
    ['<img src="x" onerror="alert(1)">', 'the event attribute "onerror" on <img>'],
  ];
  for (const [html, expected] of unknown) {
    test(`${html} is refused`, () => {
      const { scripts, styles, refused } = readHtml(html, head);
      assert.deepEqual([scripts, styles, refused], [[], [], [expected]]);
    });
  }
});

test('the line of an address in what a page was made of', () => {
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
