import assert from 'node:assert/strict';
import { test } from 'node:test';
import { jsonBody, linksIn, oneCall, ownText, render, textOf } from './api-support.ts';

const route = '/apis/v1/cws_api';
const show = (operation: Record<string, unknown>, rest = {}) =>
  render({ route, document: oneCall(operation, rest) });
const body = (schema: unknown, components = {}) => show(jsonBody(schema), { components });
const fieldText = (dom: ReturnType<typeof show>['dom'], anchor: string) => {
  const element = dom.byId(anchor);
  assert.ok(element, `#${anchor} is missing among ${dom.ids.join(' ')}`);
  return ownText(element);
};

// protects against site/document-html
test('HTML and scripts in texts of the document are shown as text', () => {
  const evil = '<img src=x onerror=alert(1)><script>alert(2)</script>"\'>';
  const { dom, html, page } = show(
    {
      summary: evil,
      description: `${evil}\n\n[link](javascript:alert(3)) [data](data:text/html,x)\n\n\`${evil}\``,
      tags: [evil],
      security: [{ [evil]: [evil] }],
      parameters: [
        {
          name: evil,
          in: 'query',
          description: evil,
          schema: { type: 'string', pattern: evil, example: evil },
        },
      ],
      ...jsonBody(
        {
          type: 'object',
          title: evil,
          properties: { [evil]: { type: 'string', enum: [evil], default: evil, description: evil } },
          oneOf: [{ title: evil }],
        },
        { examples: { [evil]: { summary: evil, value: { a: evil } } } },
      ),
      responses: { [evil]: { description: evil, headers: { [evil]: { description: evil } } } },
    },
    {
      info: { title: evil, version: evil, description: `${evil}\n\n## ${evil}\n\n${evil}` },
      tags: [{ name: evil, description: evil }],
    },
  );
  assert.ok(dom.elements.every((one) => !['script', 'img', 'style', 'iframe'].includes(one.name)));
  assert.ok(dom.elements.every((one) => Object.keys(one.attribs).every((key) => !key.startsWith('on'))));
  assert.ok(dom.elements.every((one) => !/^(javascript|data):/i.test(one.attribs['href'] ?? '')));
  assert.ok(html.includes('&lt;script&gt;alert(2)&lt;/script&gt;'));
  assert.equal(page.sidebar.at(-1)?.items[0]?.label, evil);
});

test('all keywords of a schema are shown: limits, default, nullable types, const, unknown keywords', () => {
  const { dom } = body({
    type: 'object',
    required: ['a', 'undescribed'],
    properties: {
      a: {
        type: ['string', 'null'],
        minLength: 3,
        maxLength: 9,
        pattern: '^x+$',
        default: 'xxx',
        deprecated: true,
        format: 'uuid',
      },
      b: { type: 'number', exclusiveMinimum: 1.5, exclusiveMaximum: 7, multipleOf: 0.25 },
      c: { const: 0 },
      d: { enum: [null, '', ' x', 4, true] },
      e: {
        type: 'array',
        minItems: 2,
        maxItems: 2,
        uniqueItems: true,
        items: { type: 'integer', minimum: -4 },
      },
      f: { type: 'string', contentEncoding: 'base64', contentMediaType: 'image/png' },
      g: {
        type: 'object',
        minProperties: 1,
        maxProperties: 5,
        propertyNames: { pattern: '^k' },
        patternProperties: { '^k1$': { type: 'string', maxLength: 77 } },
      },
      h: { not: { type: 'string' } },
      i: true,
      j: false,
      k: {
        type: 'array',
        prefixItems: [{ type: 'string' }],
        items: {
          type: 'array',
          items: { type: 'object', properties: { deep: { type: 'boolean', readOnly: true } } },
        },
      },
      l: { type: 'string', writeOnly: true, default: '' },
    },
    if: { properties: { a: { const: 'xxx' } } },
    // biome-ignore lint/suspicious/noThenProperty: a keyword of JSON Schema
    then: { required: ['b'] },
    dependentRequired: { b: ['c'] },
  });
  const has = (name: string, ...parts: string[]) => {
    const text = fieldText(dom, `op.request.${name}`);
    for (const part of parts) assert.ok(text.includes(part), `${name}: "${part}" is missing in "${text}"`);
  };
  has('a', '必須', '非推奨', 'string (uuid) | null', '3〜9', '^x+$', 'xxx');
  has('b', '1.5 より大きい', '7 より小さい', '0.25');
  has('c', 'number', '固定値0');
  has('d', 'null', '""', '" x"', '4', 'true');
  has('e', 'array<integer>', '要素数2', 'なし', '-4 以上');
  has('f', 'base64', 'image/png');
  has('g', '1〜5', '{"pattern":"^k"}');
  has('g.^k1$', '^k1$', '77 以下');
  has('h', 'not', '{"type":"string"}');
  has('i', '任意の値');
  has('j', '値を持てません');
  has('k', 'prefixItems');
  has('k.deep', 'boolean', '応答のみ');
  has('l', '要求のみ', '""');
  has('undescribed', '必須');
  const section = textOf(dom.elements.find((one) => one.attribs['class'] === 'api-operation'));
  for (const keyword of ['if', 'then', 'dependentRequired']) assert.ok(section.includes(keyword));
});

test('"no other fields" is shown for requests, not for responses', () => {
  const closed = { type: 'object', additionalProperties: false, properties: { a: { type: 'string' } } };
  const answer = {
    responses: { '200': { description: 'ok', content: { 'application/json': { schema: closed } } } },
  };
  const count = (one: { html: string }) => one.html.split('ここにない項目は使えません。').length - 1;
  assert.equal(count(show(jsonBody(closed))), 1);
  assert.equal(count(show(answer)), 0);
});

test('allOf is merged: fields and required fields of all parts, and the narrower limits', () => {
  const { dom } = body(
    {
      allOf: [
        { $ref: '#/components/schemas/Base' },
        { type: 'object', required: ['b'], properties: { a: { maxLength: 5 }, b: { type: 'integer' } } },
      ],
    },
    {
      schemas: {
        Base: {
          type: 'object',
          required: ['a'],
          properties: { a: { type: 'string', minLength: 1, maxLength: 9, description: 'from base' } },
        },
      },
    },
  );
  assert.match(fieldText(dom, 'op.request.a'), /必須.*from base.*1〜5/s);
  assert.match(fieldText(dom, 'op.request.b'), /integer.*必須/s);
});

test('oneOf and anyOf: each variant has an anchor, and a discriminator names the variants', () => {
  const { dom } = body(
    {
      type: 'object',
      properties: {
        pet: {
          oneOf: [{ $ref: '#/components/schemas/Cat' }, { $ref: '#/components/schemas/Dog' }],
          discriminator: { propertyName: 'kind', mapping: { meow: '#/components/schemas/Cat', woof: 'Dog' } },
        },
        either: {
          anyOf: [
            { type: 'string', maxLength: 3 },
            { type: 'integer', minimum: 8 },
          ],
        },
      },
    },
    {
      schemas: {
        Cat: { type: 'object', properties: { claws: { type: 'integer' } } },
        Dog: { type: 'object', properties: { tail: { type: 'number' } } },
      },
    },
  );
  assert.match(fieldText(dom, 'op.request.pet'), /kind の値で決まります/);
  assert.match(fieldText(dom, 'op.request.pet.meow'), /meow/);
  fieldText(dom, 'op.request.pet.meow.claws');
  fieldText(dom, 'op.request.pet.woof.tail');
  assert.match(fieldText(dom, 'op.request.either'), /string \| integer.*一つ以上/s);
  assert.match(fieldText(dom, 'op.request.either.1'), /3 以下/);
  assert.match(fieldText(dom, 'op.request.either.2'), /8 以上/);
});

test('a recursive schema ends with a link to the field that it repeats', () => {
  const tree = {
    type: 'object',
    properties: {
      name: { type: 'string' },
      children: { type: 'array', items: { $ref: '#/components/schemas/Tree' } },
    },
  };
  const { dom, html } = body(
    { type: 'object', properties: { root: { $ref: '#/components/schemas/Tree' } } },
    { schemas: { Tree: tree } },
  );
  assert.ok(linksIn(dom.byId('op.request.root.children')).includes('#op.request.root'));
  assert.ok(html.length < 20_000);
});

test('a schema of 40 levels and words of 4,000 characters are shown', () => {
  let schema: Record<string, unknown> = { type: 'string', description: 'x'.repeat(4000) };
  for (let level = 0; level < 40; level++)
    schema = { type: 'object', properties: { [`level${level}`]: schema } };
  const { dom } = body(schema);
  const anchor = `op.request.${Array.from({ length: 40 }, (_, index) => `level${39 - index}`).join('.')}`;
  assert.ok(fieldText(dom, anchor).includes('x'.repeat(4000)));
});

test('nested fields are in details, which open without scripts', () => {
  const { dom } = body({
    type: 'object',
    properties: { outer: { type: 'object', properties: { inner: { type: 'string' } } } },
  });
  let node = dom.byId('op.request.outer.inner') as { name?: string; parent?: unknown } | undefined;
  while (node && node.name !== 'details') node = node.parent as typeof node;
  assert.ok(node);
});

test('a response without an example gets a generated example that is marked as generated', () => {
  const schema = {
    type: 'object',
    properties: {
      id: { type: 'integer', minimum: 4 },
      when: { type: 'string', format: 'date-time' },
      tags: { type: 'array', items: { enum: ['x', 'y'] } },
    },
  };
  const { html } = show({
    responses: { '200': { description: 'ok', content: { 'application/json': { schema } } } },
  });
  const text = html.replace(/<[^>]+>/g, '').replaceAll('&quot;', '"');
  assert.match(text, /型から作った例/);
  assert.ok(text.includes('"id": 4') && text.includes('"2026-01-01T00:00:00.000Z"') && text.includes('"x"'));
});

test('two fields with the same anchor stop the build with both names', () => {
  assert.throws(
    () => body({ type: 'object', properties: { 'a b': {}, a_b: {} } }),
    (error: Error & { pointer?: string }) => {
      assert.match(error.message, /duplicate anchor "#op\.request\.a_b"/);
      assert.equal(error.pointer, '#/paths/~1v1~1things/post');
      return true;
    },
  );
});

test('a reference to itself or without a target stops the build with its position', () => {
  const self = { $ref: '#/components/schemas/A' };
  for (const [schemas, reason] of [
    [{ A: self }, /refers to itself/],
    [{ A: { allOf: [self] } }, /refers to itself/],
    [{}, /has no target/],
  ] as const) {
    assert.throws(
      () => body({ type: 'object', properties: { a: self } }, { schemas }),
      (error: Error & { pointer?: string }) => {
        assert.match(error.message, reason);
        assert.equal(error.pointer, '#/paths/~1v1~1things/post');
        return true;
      },
    );
  }
});

test('inline code that names an operation becomes a link, code in links and blocks does not', () => {
  const { dom } = show({ description: 'See `op` and [`op`](/docs) and `POST /v1/things`.\n\n    op\n' }, {});
  const text = dom.elements.find((one) => one.attribs['class'] === 'api-text');
  assert.deepEqual(linksIn(text), ['#op', '/docs', '#op']);
});

test('line breaks between Japanese words do not become spaces', () => {
  const { dom } = show({ description: '一行目の\n二行目。\n`code` と\nword' });
  const text = dom.elements.find((one) => one.attribs['class'] === 'api-text');
  assert.equal(textOf(text), '一行目の二行目。code と\nword');
});

test('a path item by reference, parameters of path and operation, several media types', () => {
  const { dom } = render({
    route,
    document: {
      openapi: '3.1.0',
      info: { title: 'Test', version: '1' },
      paths: { '/a/{id}': { $ref: '#/components/pathItems/A' } },
      components: {
        pathItems: {
          A: {
            parameters: [
              {
                name: 'id',
                in: 'path',
                required: true,
                schema: { type: 'string' },
                description: 'of the path',
              },
            ],
            put: {
              operationId: 'op',
              summary: 'S',
              parameters: [
                {
                  name: 'id',
                  in: 'path',
                  required: true,
                  schema: { type: 'string' },
                  description: 'of the operation',
                },
              ],
              requestBody: {
                content: {
                  'application/json': { schema: { type: 'object', properties: { a: {} } } },
                  'text/plain': { schema: { type: 'string' } },
                },
              },
              responses: { default: { description: 'any' } },
            },
          },
        },
      },
    },
  });
  assert.match(fieldText(dom, 'op.path.id'), /of the operation/);
  assert.match(fieldText(dom, 'op.request.text/plain'), /text\/plain/);
  fieldText(dom, 'op.default');
});
