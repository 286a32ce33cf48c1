import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { loadApi, withLocation } from '../../build/openapi.ts';
import { render } from './api-support.ts';

const folder = mkdtempSync(join(tmpdir(), 'api-load-'));
after(() => rmSync(folder, { recursive: true }));

const good = `openapi: 3.1.0
info:
  title: T
  version: 1.0.0
paths:
  /a/{id}:
    get:
      operationId: one
      summary: S
      parameters:
        - name: id
          in: path
          required: true
          schema: { type: integer }
          example: 1
      responses:
        "200":
          description: ok
          content:
            application/json:
              schema: { $ref: "#/components/schemas/A" }
              examples:
                first:
                  value: { a: 1.0, b: 9007199254740993, c: 1e3 }
components:
  schemas:
    A:
      type: object
      additionalProperties: false
      properties:
        a: { type: number }
        b: { type: integer }
        c: { type: number, maximum: 1e3 }
        "d e": { type: string }
`;

const load = (text: string) => {
  writeFileSync(join(folder, 'cws_api.yaml'), text);
  return loadApi(folder, 'cws_api');
};

test('a valid document keeps the text of numbers in examples; limits are numbers', async () => {
  const { document, route } = await load(good);
  assert.equal(route, '/apis/v1/cws_api');
  const text = JSON.stringify(document);
  assert.match(text, /"value":\{"a":1\.0,"b":9007199254740993,"c":1e3\}/);
  assert.match(text, /"maximum":1000/);
});

const bad: readonly (readonly [string, (text: string) => string, RegExp])[] = [
  [
    'YAML that cannot be parsed',
    (text) => text.replace('  title: T', '  title: "T'),
    /^cws_api\.yaml:\d+: not YAML: \w[^/]*$/,
  ],
  [
    'an unknown member',
    (text) => text.replace('      summary: S', '      summary: S\n      sumary: S'),
    /^cws_api\.yaml:10: .*sumary/,
  ],
  [
    'a reference without a target',
    (text) => text.replace('schemas/A" }', 'schemas/B" }'),
    /^cws_api\.yaml:21: .*[Rr]ef/,
  ],
  [
    'no operationId',
    (text) => text.replace('      operationId: one\n', ''),
    /^cws_api\.yaml:\d+: .*operationId/,
  ],
  [
    'a duplicate operationId',
    (text) =>
      text.replace(
        'components:',
        `  /b:\n    get:\n      operationId: one\n      summary: S\n      responses: { "200": { description: ok } }\ncomponents:`,
      ),
    /^cws_api\.yaml:26: .*unique/,
  ],
  ['no summary', (text) => text.replace('      summary: S\n', ''), /^cws_api\.yaml:\d+: .*summary/],
  ['an example of another type', (text) => text.replace('a: 1.0', 'a: text'), /^cws_api\.yaml:24: .*number/],
  [
    'an example with a field that does not exist',
    (text) => text.replace('a: 1.0', 'aa: 1.0'),
    /^cws_api\.yaml:24: .*(additional|unevaluated)/i,
  ],
  [
    "a parameter's example that does not fit",
    (text) => text.replace('example: 1', 'example: x'),
    /^cws_api\.yaml:15: .*integer/,
  ],
  [
    'a path parameter that is not described',
    (text) => text.replace('/a/{id}', '/a/{id}/{other}'),
    /^cws_api\.yaml:\d+: .*other/,
  ],
  [
    'OpenAPI 3.0',
    (text) =>
      text
        .replace('openapi: 3.1.0', '# the contract\nopenapi: 3.0.3')
        .replace('description: ok', 'sumary: ok'),
    /^cws_api\.yaml:2: OpenAPI 3\.1 is required, not 3\.0\.3$/,
  ],
  [
    'OpenAPI 3.1 as a number',
    (text) => text.replace('3.1.0', '3.1'),
    /^cws_api\.yaml:1: OpenAPI 3\.1 is required, not 3\.1$/,
  ],
  [
    'Swagger 2.0',
    (text) => text.replace('openapi: 3.1.0', 'swagger: "2.0"'),
    /^cws_api\.yaml:1: OpenAPI 3\.1 is required: "openapi" is missing$/,
  ],
  [
    'a document that is a list',
    () => '- a\n',
    /^cws_api\.yaml:1: OpenAPI 3\.1 is required: "openapi" is missing$/,
  ],
  ['an empty document', () => '', /^cws_api\.yaml:1: OpenAPI 3\.1 is required: "openapi" is missing$/],
];

for (const [what, change, reason] of bad) {
  test(`${what} stops the build with file, line and reason, on one screen`, async () => {
    const text = change(good);
    assert.notEqual(text, good);
    await assert.rejects(load(text), (error: Error) => {
      assert.match(error.message, reason);
      assert.ok(error.message.split('\n').length <= 11, error.message);
      return true;
    });
  });
}

test('a missing document stops the build with its name', async () => {
  await assert.rejects(
    loadApi(join(folder, 'none'), 'cws_api'),
    /^Error: cws_api\.yaml: cannot be read \(ENOENT\)$/,
  );
});

test('an error of the renderer has the line of the call', async () => {
  const api = await load(
    good.replace('"d e": { type: string }', '"d e": { type: string }\n        d_e: { type: string }'),
  );
  assert.throws(
    () => withLocation(api, () => render(api)),
    /^Error: cws_api\.yaml:7: duplicate anchor "#one\.200\.d_e" \(one; one\) \(#\/paths\/~1a~1\{id\}\/get\)$/,
  );
});
