import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import { apiNames } from '../../build/openapi.ts';
import { linksIn, renderReal, sectionOf, textOf } from './api-support.ts';
import { type Members, readYaml } from './api-yaml.ts';

for (const name of apiNames) {
  describe(name, async () => {
    const { operations } = readYaml(name);
    const { dom, html, page } = await renderReal(name);
    const all = await Promise.all(apiNames.map(renderReal));

    test(`${name}: every link has a target`, () => {
      const anchors = new Map(
        apiNames.map((one, index) => [`/apis/v1/${one}`, new Set(all[index]?.dom.ids)]),
      );
      const hrefs = [
        ...dom.elements.flatMap((one) => one.attribs['href'] ?? []),
        ...page.toc.map((one) => `#${one.id}`),
        ...page.sidebar.flatMap((one) => one.items.map((item) => item.href)),
        ...page.search.map((one) => one.href),
      ];
      for (const href of hrefs) {
        const [route, hash] = href.split('#');
        if (hash === undefined)
          assert.match(href, /^(\/docs\/|\/information$|\/apis\/v1\/\w+\.(yaml|json)$|https?:)/);
        else if (route?.startsWith('/docs/')) {
          // The target must be a heading with a fixed id. The build checks all links.
          const guide = readFileSync(join(import.meta.dirname, `../../content${route}.mdx`), 'utf8');
          assert.ok(guide.includes(`{#${hash}}`), `${href} has no target`);
        } else assert.ok(anchors.get(route || `/apis/v1/${name}`)?.has(hash), `${href} has no target`);
      }
      assert.ok(hrefs.length > 20);
    });

    test(`${name}: ids are unique and without white space, heading levels are not skipped, links are not nested`, () => {
      assert.ok(dom.ids.length > 10);
      assert.equal(new Set(dom.ids).size, dom.ids.length);
      for (const id of dom.ids) assert.match(id, /^\S+$/);
      let level = 1;
      for (const one of dom.elements) {
        if (!/^h[1-6]$/.test(one.name)) continue;
        const next = Number(one.name[1]);
        assert.ok(next <= level + 1, `h${level} is followed by h${next}: ${textOf(one)}`);
        level = next;
      }
      assert.ok(!/<a [^>]*>(?:(?!<\/a>)[\s\S])*<a /.test(html));
    });

    test(`${name}: the page has at most 25,000 elements, including 2,000 for the navigation`, () => {
      const count = dom.elements.length;
      assert.ok(count > 100 && count + 2000 <= 25_000, `${count} elements`);
    });

    test(`${name}: the page has no style attributes and no scripts, which the policy forbids`, () => {
      assert.ok(dom.elements.length > 100);
      assert.ok(
        dom.elements.every(
          (one) => !('style' in one.attribs) && one.name !== 'script' && one.name !== 'style',
        ),
      );
      assert.ok(dom.elements.every((one) => Object.keys(one.attribs).every((key) => !key.startsWith('on'))));
    });

    test(`${name}: the Markdown version contains every call, field and status`, () => {
      for (const { id, path, value } of operations) {
        for (const one of [id, path, value.summary]) assert.ok(page.text.includes(one), one);
        for (const status of Object.keys(value['responses'] as Members))
          assert.ok(page.text.includes(`**${status}**`));
      }
      for (const record of page.search.filter((one) => one.kind === 'field')) {
        const key = record.title.split('.').at(-1) ?? '';
        assert.ok(page.text.includes(key), `${record.title} is not in the Markdown version`);
      }
    });

    test(`${name}: a line break in Japanese text leaves no space in the Markdown version and in the search`, () => {
      const lines = page.text.split('\n');
      assert.ok(lines.length > 100);
      for (const line of lines) assert.doesNotMatch(line, /、(?: |$)/);
      for (const { text } of page.search) assert.doesNotMatch(text, /、 /);
    });

    test(`${name}: the heading of a call in the Markdown version has its anchor`, () => {
      const lines = page.text.split('\n');
      for (const { id, value } of operations)
        assert.ok(
          lines.some((line) => line.startsWith(`### ${value.summary}`) && line.endsWith(` {#${id}}`)),
          id,
        );
    });

    test(`${name}: the search index contains each call, field and status`, () => {
      const hrefs = new Set(page.search.map((one) => one.href));
      for (const { id, value } of operations) {
        assert.ok(hrefs.has(`/apis/v1/${name}#${id}`));
        for (const status of Object.keys(value['responses'] as Members))
          assert.ok(hrefs.has(`/apis/v1/${name}#${id}.${status}`));
      }
      const isError = /\.[45]\d\d\./;
      const fields = dom.ids.filter(
        (one) => /^[^.]+\.(path|query|header|request|[123]\d\d)\./.test(one) && !isError.test(one),
      );
      const missing = fields.filter(
        (one) => dom.byId(one)?.name === 'li' && !hrefs.has(`/apis/v1/${name}#${one}`),
      );
      assert.deepEqual(missing, []);
    });
  });
}

test('the anchors are equal to the published ones, to which other sites may link', async () => {
  const file = join(import.meta.dirname, 'api-anchors.txt');
  const pages = await Promise.all(
    apiNames.map(async (name) => (await renderReal(name)).dom.ids.map((id) => `${name}#${id}`)),
  );
  assert.deepEqual(pages.flat(), readFileSync(file, 'utf8').trim().split('\n'));
});

test('a call links to each callback that may follow it, and each callback links to the call', async () => {
  const calls = new Set(readYaml('cws_api').operations.map((one) => one.id));
  const [api, notification] = await Promise.all([renderReal('cws_api'), renderReal('cws_notification')]);
  const { operations, deref } = readYaml('cws_notification');
  const linksOf = ({ dom }: typeof api, id: string) => linksIn(sectionOf(dom, id));
  let pairs = 0;
  for (const { id, value } of operations) {
    const media = Object.values(
      (value['requestBody'] as { content: Record<string, Members> }).content,
    )[0] as Members;
    const schema = deref(media['schema'] as Members).value;
    const forms = (schema['oneOf'] as Members[] | undefined) ?? [schema];
    const named = forms.flatMap((form) => {
      const { const: only, enum: several } =
        (form['properties'] as Record<string, Members>)['operationId'] ?? {};
      return [only ?? [], several ?? []].flat() as string[];
    });
    for (const call of new Set(named)) {
      if (!calls.has(call)) continue;
      pairs++;
      assert.ok(linksOf(notification, id).includes(`/apis/v1/cws_api#${call}`), `${id} → ${call}`);
      assert.ok(linksOf(api, call).includes(`/apis/v1/cws_notification#${id}`), `${call} → ${id}`);
    }
  }
  assert.ok(pairs >= 40, `${pairs} pairs`);
});
