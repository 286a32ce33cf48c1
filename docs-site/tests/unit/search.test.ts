import assert from 'node:assert/strict';
import { join, resolve } from 'node:path';
import { before, describe, test } from 'node:test';
import { loadGuides } from '../../build/guides.ts';
import { loadModule } from '../../build/renderer.ts';
import { readSettings } from '../../build/settings.ts';
import { buildSite, type Site } from '../../build/site.ts';
import { queries } from './search-queries.ts';

type EngineModule = typeof import('../../src/search/engine.ts');
type AnalyseModule = typeof import('../../src/search/analyse.ts');

const root = resolve(import.meta.dirname, '../..');
let engine: Awaited<ReturnType<EngineModule['createEngine']>>;
let analyse: AnalyseModule;
let records: Site['search'];
let pages: Site['pages'];

before(async () => {
  const [{ createEngine }, loaded, site] = await Promise.all([
    loadModule<EngineModule>(root, 'src/search/engine.ts'),
    loadModule<AnalyseModule>(root, 'src/search/analyse.ts'),
    buildSite({ root, settings: readSettings({}), drafts: false }),
  ]);
  analyse = loaded;
  ({ search: records, pages } = site);
  engine = await createEngine(records);
});

describe('search: the table of queries', () => {
  test('the table has at least 30 queries', () => assert.ok(queries.length >= 30));
  for (const { query, first, top, none, same, partial = false } of queries) {
    test(`${query} → ${none ? 'nothing' : (first ?? top ?? `as ${same}`)}`, () => {
      const found = engine.find(query);
      const hits = found.hits.map((hit) => hit.href);
      if (none) assert.deepEqual(hits, []);
      else assert.ok(hits.length > 0, 'no hit');
      if (first) assert.ok(hits[0]?.startsWith(first), `${hits.slice(0, 3).join(' ')}`);
      assert.equal(found.partial, partial);
      if (top)
        assert.ok(
          hits.slice(0, 3).some((href) => href.startsWith(top)),
          hits.slice(0, 3).join(' '),
        );
      if (same)
        assert.deepEqual(
          hits,
          engine.find(same).hits.map((hit) => hit.href),
        );
    });
  }
});

describe('search: words', () => {
  const wordsOf = (query: string) => analyse.queryParts(query).map((words) => words.map(({ text }) => text));
  test('identifiers are indexed as a whole and in parts', () => {
    assert.deepEqual(analyse.indexTerms('soraRecGetUrl'), ['sorarecgeturl', 'sora', 'rec', 'get', 'url']);
    assert.deepEqual(analyse.indexTerms('notify-battery_changed'), [
      'notifybatterychanged',
      'notify',
      'battery',
      'changed',
    ]);
  });
  test('Japanese text becomes bigrams, split from other letters', () => {
    assert.deepEqual(analyse.indexTerms('API認証'), ['api', '認証']);
    assert.deepEqual(analyse.indexTerms('位置情報'), ['位置', '置情', '情報']);
  });
  test('words of a query have no particles and endings', () => {
    assert.deepEqual(wordsOf('署名を検証したい API認証'), [
      ['署名', '検証'],
      ['API', '認証'],
    ]);
    assert.deepEqual(wordsOf('リトライの請求額'), [['リトライ', '請求額']]);
    assert.deepEqual(wordsOf('すべて'), [['すべて']]);
  });
  test('half-width and full-width characters are equal', () => {
    assert.deepEqual(wordsOf('ｱｯﾌﾟﾛｰﾄﾞ'), wordsOf('アップロード'));
  });
  test('a query without letters finds nothing', () => assert.deepEqual(engine.find('!?。「」').total, 0));
});

describe('search: hits', () => {
  const textOf = (pieces: readonly { text: string; marked: boolean }[]) =>
    pieces.map(({ text, marked }) => (marked ? `[${text}]` : text)).join('');
  const first = (query: string) => {
    const [hit] = engine.find(query).hits;
    assert.ok(hit);
    return hit;
  };

  test('a hit shows the text around the words of the query, which are marked', () => {
    const excerpt = textOf(first('webhook-id 重複').excerpt);
    assert.match(excerpt, /\[webhook-id\]/);
    assert.ok(excerpt.length < 120, excerpt);
    const page = engine.find('署名 検証').hits.find(({ href }) => href === '/docs');
    assert.ok(page);
    assert.match(textOf(page.excerpt), /\[検証\]/);
  });
  test('other spellings in the text are marked', () => {
    assert.match(textOf(first('wifi').title), /^\[Wi-Fi\]/);
    assert.match(textOf(first('チャンネル').title), /^\[チャネル\]/);
    assert.match(textOf(first('受信サーバ').title), /\[受信\]\[サーバー\]|\[受信サーバー\]/);
  });
  test('a call that matches only by its path shows the path', () => {
    assert.match(textOf(first('put commands').excerpt), /\/\[commands\]/);
  });
  test('words far from each other are both shown, and a long name is not cut', async () => {
    const { createEngine } = await loadModule<EngineModule>(root, 'src/search/engine.ts');
    const name = 'notify-battery-percentage-changed';
    const text = `${'あ'.repeat(100)}。冷蔵庫${'い'.repeat(100)}、${name}${'う'.repeat(100)}`;
    const own = await createEngine([{ href: '/x', title: '題', path: [], text, kind: 'page' }]);
    assert.match(
      textOf(own.find(`冷蔵庫 ${name}`).hits[0]?.excerpt ?? []),
      /^….*\[冷蔵庫\].*…\[notify.*changed\].*…$/,
    );
  });
  test('HTML in a text is shown as text', async () => {
    const { createEngine } = await loadModule<EngineModule>(root, 'src/search/engine.ts');
    const text = '<img src=x onerror=alert(1)> 冷蔵庫 <b>太字</b>';
    const own = await createEngine([{ href: '/x', title: '<i>題</i>', path: [], text, kind: 'page' }]);
    const [hit] = own.find('冷蔵庫').hits;
    assert.equal(hit?.excerpt.map((one) => one.text).join(''), text);
    assert.equal(textOf(hit?.title ?? []), '<i>題</i>');
  });
  test('no two hits of a query look the same', () => {
    for (const query of [
      ...queries.map((one) => one.query),
      'deviceEvent',
      'deviceId',
      'applicationId',
      '200',
    ]) {
      const rows = engine
        .find(query)
        .hits.map(({ kind, title, path, part }) => [kind, textOf(title), ...path, part].join(' › '));
      assert.deepEqual(
        rows.filter((row, index) => rows.indexOf(row) !== index),
        [],
        query,
      );
    }
    const events = engine
      .find('deviceEvent')
      .hits.filter(({ path }) => path[1] === 'アプリケーション設定の更新');
    assert.deepEqual(new Set(events.slice(0, 2).map(({ part }) => part)), new Set(['request', '200']));
  });
  test('all hits are counted, and the best hits are listed', () => {
    const { hits, total } = engine.find('デバイス');
    assert.equal(hits.length, 30);
    assert.ok(total > 30);
  });
  test('the path of a call has the heading of its group, not the name of its tag', () => {
    assert.deepEqual(first('コマンドの実行').path, ['API リファレンス', 'デバイスの操作']);
    const headings = new Set(pages.flatMap(({ page }) => page.sidebar.map(({ label }) => label)));
    for (const { kind, path } of records)
      if (kind === 'operation' || kind === 'notification')
        assert.ok(headings.has(path[1] ?? ''), path.join(' › '));
  });
});

test('every keyword of a guide finds its target', async () => {
  const guides = await loadGuides(join(root, 'content'), () => '', false);
  const keywords = guides.flatMap(({ data, route }) =>
    Object.entries(data.keywords ?? {}).flatMap(([key, words]) =>
      words
        .split(' ')
        .map(
          (word) => [word, key === 'page' ? route : key.startsWith('/') ? key : `${route}#${key}`] as const,
        ),
    ),
  );
  assert.ok(keywords.length > 40);
  const missed = keywords.filter(
    ([word, target]) =>
      !engine
        .find(word)
        .hits.slice(0, 5)
        .some(({ href }) => href === target),
  );
  assert.deepEqual(missed, []);
});

test('the navigation and the sidebar have the same labels for guides', async () => {
  const { guideLinks } = await loadModule<typeof import('../../src/theme/Navbar/items.ts')>(
    root,
    'src/theme/Navbar/items.ts',
  );
  const sidebar = pages.find(({ page }) => page.route === '/docs')?.page.sidebar ?? [];
  assert.deepEqual(
    guideLinks,
    sidebar.flatMap(({ items }) => items),
  );
});
