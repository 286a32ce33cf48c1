import assert from 'node:assert/strict';
import { resolve } from 'node:path';
import { before, describe, test } from 'node:test';
import { loadModule } from '../../build/renderer.ts';
import { readSettings } from '../../build/settings.ts';
import { buildSite } from '../../build/site.ts';
import { queries } from './search-queries.ts';

type EngineModule = typeof import('../../src/search/engine.ts');
type AnalyseModule = typeof import('../../src/search/analyse.ts');

const root = resolve(import.meta.dirname, '../..');
let engine: Awaited<ReturnType<EngineModule['createEngine']>>;
let analyse: AnalyseModule;

before(async () => {
  const [{ createEngine }, loaded, site] = await Promise.all([
    loadModule<EngineModule>(root, 'src/search/engine.ts'),
    loadModule<AnalyseModule>(root, 'src/search/analyse.ts'),
    buildSite({ root, settings: readSettings({}), drafts: false }),
  ]);
  analyse = loaded;
  engine = await createEngine(site.search);
});

describe('search: the table of queries', () => {
  test('it has at least 30', () => assert.ok(queries.length >= 30));
  for (const { query, first, none, same } of queries) {
    test(`${query} → ${none ? 'nothing' : (first ?? `as ${same}`)}`, () => {
      const hits = engine.find(query).map((hit) => hit.href);
      if (none) assert.deepEqual(hits, []);
      else assert.ok(hits.length > 0, 'no hit');
      if (first) assert.ok(hits[0]?.startsWith(first), `${hits.slice(0, 3).join(' ')}`);
      if (same)
        assert.deepEqual(
          hits,
          engine.find(same).map((hit) => hit.href),
        );
    });
  }
});

describe('search: words', () => {
  test('identifiers stay whole and fall into their parts', () => {
    assert.deepEqual(analyse.indexTerms('soraRecGetUrl'), ['sorarecgeturl', 'sora', 'rec', 'get', 'url']);
    assert.deepEqual(analyse.indexTerms('notify-battery_changed'), [
      'notify-battery_changed',
      'notify',
      'battery',
      'changed',
    ]);
  });
  test('Japanese becomes bigrams, and its border to other letters divides', () => {
    assert.deepEqual(analyse.indexTerms('API認証'), ['api', '認証']);
    assert.deepEqual(analyse.queryTerms('位置情報'), ['位置', '置情', '情報']);
  });
  test('half width and full width are the same', () => {
    assert.deepEqual(analyse.queryTerms('ｱｯﾌﾟﾛｰﾄﾞ'), analyse.queryTerms('アップロード'));
  });
  test('a query of signs only finds nothing', () => assert.deepEqual(engine.find('!?。「」'), []));
});

test('the navigation names the guides as their own titles do', async () => {
  const { guideLinks } = await loadModule<typeof import('../../src/theme/Navbar/items.ts')>(
    root,
    'src/theme/Navbar/items.ts',
  );
  const { pages } = await buildSite({ root, settings: readSettings({}), drafts: false });
  const sidebar = pages.find(({ page }) => page.route === '/docs')?.page.sidebar ?? [];
  assert.deepEqual(
    guideLinks,
    sidebar.flatMap(({ items }) => items),
  );
});
