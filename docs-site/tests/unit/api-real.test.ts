import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { apiNames } from '../../build/openapi.ts';
import { linksIn, ownText, realApis, renderReal, sectionOf, textOf } from './api-support.ts';
import { type Members, readYaml } from './api-yaml.ts';

/** Removes Markdown syntax and white space. */
const normal = (text: string) => text.replace(/^\s*- /gm, '').replace(/[\s`*|]+/g, '');
const slug = (label: string) =>
  label
    .trim()
    .replace(/[^\p{L}\p{N}_.-]+/gu, '-')
    .replace(/^-+|-+$/g, '');
const shown = (value: unknown) =>
  typeof value === 'string' && value !== '' && value.trim() === value ? value : JSON.stringify(value);
const counts: Record<string, number> = {};
const count = (what: string, by = 1) => {
  counts[what] = (counts[what] ?? 0) + by;
};

for (const name of apiNames) {
  describe(name, async () => {
    const { document, deref, operations } = readYaml(name);
    const { dom } = await renderReal(name);
    const elementOf = (anchor: string) => {
      const element = dom.byId(anchor);
      assert.ok(element, `#${anchor} is missing`);
      return element;
    };

    /** Checks that `text` contains all facts of a schema. */
    function checkFacts(schema: Members, text: string, anchor: string): void {
      const has = (value: string, what: string) => {
        count(what);
        assert.ok(
          normal(text).includes(normal(value)),
          `#${anchor}: ${what} "${value}" is missing in "${text}"`,
        );
      };
      for (const value of (schema['enum'] as unknown[] | undefined) ?? []) has(shown(value), 'enum');
      for (const key of ['const', 'default', 'pattern']) if (key in schema) has(shown(schema[key]), key);
      for (const key of ['minLength', 'maxLength', 'minimum', 'maximum', 'minItems', 'maxItems']) {
        if (key in schema) has(String(schema[key]), 'limit');
      }
      if (typeof schema['format'] === 'string' && !schema['properties'])
        has(`(${schema['format']})`, 'format');
      for (const type of [schema['type'] ?? []].flat()) has(String(type), 'type');
      if (typeof schema['description'] === 'string') has(schema['description'], 'description');
      if (schema['deprecated'] === true) has('非推奨', 'deprecated');
      if (schema['writeOnly'] === true) has('要求のみ', 'writeOnly');
      if (schema['readOnly'] === true) has('応答のみ', 'readOnly');
    }

    /** Checks the fields, elements and variants of a schema; `anchor` is the anchor of the schema. */
    function checkInside(schema: Members, anchor: string, refs: readonly string[]): void {
      const required = (schema['required'] as string[] | undefined) ?? [];
      const properties = Object.entries((schema['properties'] as Record<string, Members> | undefined) ?? {});
      for (const [key, inner] of properties)
        checkField(key, inner, `${anchor}.${key}`, required.includes(key), refs);
      const others = schema['additionalProperties'];
      if (typeof others === 'object') checkField('', others as Members, `${anchor}.*`, false, refs);
      for (const [index, variant] of ((schema['oneOf'] ?? schema['anyOf'] ?? []) as Members[]).entries()) {
        const { value, ref } = deref(variant);
        const part =
          slug((value['title'] as string | undefined) ?? ref?.split('/').at(-1) ?? '') || String(index + 1);
        checkFacts(value, ownText(elementOf(`${anchor}.${part}`)), `${anchor}.${part}`);
        checkInside(value, `${anchor}.${part}`, ref ? [...refs, ref] : refs);
        count('variants');
      }
      if (schema['items']) {
        const { value, ref } = deref(schema['items'] as Members);
        if (ref && refs.includes(ref)) return;
        const { type: _, ...own } = value;
        if (dom.byId(anchor)?.name !== 'h4') checkFacts(own, ownText(elementOf(anchor)), anchor);
        checkInside(value, anchor, ref ? [...refs, ref] : refs);
      }
    }

    function checkField(
      key: string,
      schema: Members,
      anchor: string,
      isRequired: boolean,
      refs: readonly string[],
    ): void {
      const element = elementOf(anchor);
      const { value, ref } = deref(schema);
      const text = ownText(element);
      count('fields');
      assert.ok(text.includes(key), `#${anchor} does not show its name`);
      assert.equal(text.includes('必須'), isRequired, `#${anchor}: required`);
      checkFacts(value, text, anchor);
      if (ref && refs.includes(ref)) {
        count('recursions');
        assert.ok(
          linksIn(element).some((one) => one !== `#${anchor}` && anchor.startsWith(one.slice(1))),
          `#${anchor}: no link to the field that it repeats`,
        );
        return;
      }
      const isLeaf =
        !['properties', 'items', 'oneOf', 'anyOf', 'enum', 'const'].some((one) => one in value) &&
        typeof value['additionalProperties'] !== 'object';
      const type = [value['type']].flat().find((one) => one !== 'null');
      if (isLeaf && type !== undefined && type !== 'object')
        assert.match(text, /例/, `#${anchor}: an example is missing`);
      checkInside(value, anchor, ref ? [...refs, ref] : refs);
    }

    function checkExamples(media: Members, id: string): void {
      // Samples contain a body after the headers, or as the data of curl.
      const blocks = dom.elements
        .filter((one) => (one.name === 'code' || one.name === 'pre') && sectionHas(id, one))
        .map((one) =>
          textOf(one)
            .replace(/^POST [\s\S]*?\n\n/, '')
            .replace(/^curl [\s\S]*? -d '([\s\S]*)'$/, '$1')
            .replaceAll("'\\''", "'"),
        );
      const values = blocks.flatMap((one) => {
        try {
          return [JSON.parse(one) as unknown];
        } catch {
          return [];
        }
      });
      for (const example of Object.values((media['examples'] ?? {}) as Record<string, Members>)) {
        count('examples');
        const expected = JSON.stringify(deref(example).value['value']);
        const found = values.some((one) => JSON.stringify(one) === expected);
        assert.ok(found, `${id}: the example ${expected} is not shown`);
      }
      if (!media['examples']) assert.ok(values.length > 0, `${id}: a body without an example`);
    }
    function sectionHas(id: string, element: unknown): boolean {
      const section = sectionOf(dom, id);
      for (let node = element as { parent?: unknown } | undefined; node; node = node.parent as typeof node)
        if (node === section) return true;
      return false;
    }

    for (const { id, path, method, item, value } of operations) {
      test(`${method} ${path} is shown with all details of the YAML`, () => {
        count('operations');
        const section = sectionOf(dom, id);
        const text = textOf(section);
        for (const one of [value.summary, method.toUpperCase(), path, id])
          assert.ok(text.includes(one), `${id}: "${one}" is missing`);
        assert.ok(
          normal(text).includes(normal(String(value['description'] ?? ''))),
          `${id}: the description is missing`,
        );
        for (const scopes of ((value['security'] ?? []) as Record<string, string[]>[]).flatMap((one) =>
          Object.values(one),
        )) {
          for (const scope of scopes) assert.ok(text.includes(scope), `${id}: scope ${scope}`);
        }
        for (const one of [item['parameters'] ?? [], value['parameters'] ?? []].flat() as Members[]) {
          const parameter = deref(one).value;
          const schema = deref(parameter['schema'] as Members).value;
          const anchor = `${id}.${parameter['in']}.${parameter['name']}`;
          const { description = schema['description'] } = parameter;
          checkField(
            String(parameter['name']),
            { ...schema, ...(description ? { description } : {}) },
            anchor,
            parameter['required'] === true,
            [],
          );
          if (parameter['example'] !== undefined && name === 'cws_api')
            assert.ok(ownText(elementOf(anchor)).includes(String(parameter['example'])));
        }
        const body = value['requestBody'] ? deref(value['requestBody'] as Members).value : undefined;
        for (const media of Object.values((body?.['content'] ?? {}) as Record<string, Members>)) {
          const { value: schema, ref } = deref(media['schema'] as Members);
          elementOf(`${id}.request`);
          checkFacts(schema, text, `${id}.request`);
          checkInside(schema, `${id}.request`, ref ? [ref] : []);
          checkExamples(media, id);
        }
        for (const [status, one] of Object.entries(value['responses'] as Record<string, Members>)) {
          count('statuses');
          const response = deref(one).value;
          const anchor = `${id}.${status}`;
          const own = textOf(elementOf(anchor));
          assert.ok(
            own.includes(status) && normal(own).includes(normal(String(response['description']))),
            `#${anchor}: its condition is missing`,
          );
          for (const header of Object.keys((response['headers'] ?? {}) as Members))
            assert.ok(own.includes(header), `#${anchor}: header ${header}`);
          for (const media of Object.values((response['content'] ?? {}) as Record<string, Members>)) {
            const { value: schema, ref } = deref(media['schema'] as Members);
            checkFacts(schema, own, anchor);
            checkInside(schema, anchor, ref ? [ref] : []);
            checkExamples(media, id);
          }
        }
      });
    }

    const shared = Object.entries(
      ((document['components'] as Members)['headers'] ?? {}) as Record<string, Members>,
    );
    if (shared.length > 0)
      test(`the shared headers of ${name} are described once, with their limits`, () => {
        count('shared headers', shared.length);
        for (const [key, header] of shared) {
          const facts = { ...(header['schema'] as Members), description: header['description'] };
          checkFacts(facts, ownText(elementOf(`header.${key}`)), `header.${key}`);
        }
      });
  });
}

test('numbers in examples are shown as in the document', async () => {
  const { html } = await renderReal('cws_api');
  const text = html.replace(/<[^>]+>/g, '');
  assert.ok(text.includes('9007199254740993'));
  assert.match(text, /ratio&quot;: 1\.0/);
  const command = (await realApis())[0]?.document.paths?.[
    '/v1/applications/{applicationId}/devices/{deviceId}/commands'
  ];
  assert.match(JSON.stringify(command), /"id":9007199254740993,"ratio":1\.0/);
});

test('the tests above have checked enough facts', () => {
  for (const [what, least] of Object.entries({
    operations: 71,
    fields: 700,
    statuses: 340,
    examples: 640,
    enum: 200,
    limit: 300,
    pattern: 100,
    variants: 15,
    recursions: 1,
    'shared headers': 3,
  })) {
    assert.ok((counts[what] ?? 0) >= least, `${what}: ${counts[what]}`);
  }
});
