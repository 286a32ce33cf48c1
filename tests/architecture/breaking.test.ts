import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { type DocumentName, type JsonObject, readDocument } from '@headset-cloud/gateway/openapi/document.ts';
import { describe, expect, jest, test } from '@jest/globals';
import { parse } from 'yaml';
import { breakingChanges } from './breaking/documents.ts';
import { breakingProtocols, documentKinds, hasRelease, released } from './breaking/releases.ts';

// The tests start programs, which takes seconds on a busy machine.
jest.setTimeout(60_000);

const names = Object.keys(documentKinds) as DocumentName[];

(hasRelease ? describe : describe.skip)(
  'the contracts are compatible with the last release (skipped before it)',
  () => {
    // A document that is not in the last release has no contract yet.
    const promised = names.filter((name) => existsSync(join(released.documents, `${name}.yaml`)));
    test.each(promised)('%s', (name) => {
      const before = parse(readFileSync(join(released.documents, `${name}.yaml`), 'utf8')) as JsonObject;
      expect(breakingChanges(before, readDocument(name), documentKinds[name])).toEqual([]);
    });
    test('protocols', () => {
      expect(breakingProtocols(resolve(import.meta.dirname, '../../proto'), released.protocols)).toBe('');
    });
  },
);

test.each(names)('%s is compatible with itself', (name) => {
  const document = readDocument(name);
  expect(breakingChanges(document, document, documentKinds[name])).toEqual([]);
});

const item = {
  type: 'object',
  required: ['b'],
  properties: { a: { type: 'string' }, b: { type: 'integer' } },
};

/** A small API with one change, by a path of keys; undefined removes. */
function api(...changes: [string, unknown][]): JsonObject {
  const document = {
    paths: {
      '/x': {
        parameters: [{ name: 'id', in: 'path', required: true, schema: { type: 'string', maxLength: 9 } }],
        put: {
          operationId: 'put-x',
          security: [{ oauth2: ['write'] }],
          parameters: [{ name: 'q', in: 'query', schema: { type: 'string', enum: ['u', 'v'] } }],
          requestBody: { content: { 'application/json': { schema: { $ref: '#/components/schemas/In' } } } },
          responses: {
            '200': {
              headers: { Location: {} },
              content: { 'application/json': { schema: { $ref: '#/components/schemas/Out' } } },
            },
            '400': {},
          },
        },
      },
    },
    components: { schemas: { In: { ...item }, Out: { ...item } } },
  };
  const copy = JSON.parse(JSON.stringify(document)) as Record<string, unknown>;
  for (const [path, value] of changes) {
    const keys = path.split(' ');
    let at = copy;
    for (const key of keys.slice(0, -1)) at = at[key] as Record<string, unknown>;
    at[keys.at(-1) ?? ''] = value;
  }
  // JSON drops undefined members.
  return JSON.parse(JSON.stringify(copy)) as JsonObject;
}

const put = 'paths /x put';
const In = 'components schemas In';
const Out = 'components schemas Out';

test.each<[string, [string, unknown]]>([
  ['PUT /x: is gone', [put, undefined]],
  ['PUT /x: operationId was put-x, is put-y', [`${put} operationId`, 'put-y']],
  ['PUT /x: now needs admin', [`${put} security`, [{ oauth2: ['write', 'admin'] }]]],
  ['PUT /x query q: is gone', [`${put} parameters`, []]],
  ['PUT /x query q: v is no longer accepted', [`${put} parameters 0 schema enum`, ['u']]],
  ['PUT /x query q: is now required', [`${put} parameters 0 required`, true]],
  ['PUT /x path id: maxLength was 9, is 8', ['paths /x parameters 0 schema maxLength', 8]],
  ['PUT /x path id: pattern was free, is a', ['paths /x parameters 0 schema pattern', 'a']],
  ['PUT /x body/a: is gone', [`${In} properties a`, undefined]],
  ['PUT /x body/a: is now required', [`${In} required`, ['a', 'b']]],
  ['PUT /x body/b: minimum was free, is 1', [`${In} properties b minimum`, 1]],
  ['PUT /x body: unknown members are no longer accepted', [`${In} additionalProperties`, false]],
  ['PUT /x: no longer answers 200', [`${put} responses 200`, undefined]],
  ['PUT /x 200 Location: is gone', [`${put} responses 200 headers`, {}]],
  ['PUT /x 200: no longer has a body', [`${put} responses 200 content`, undefined]],
  ['PUT /x 200 body/b: is gone', [`${Out} properties b`, undefined]],
  ['PUT /x 200 body/b: may now be absent', [`${Out} required`, []]],
  ['PUT /x 200 body/b: null may now be sent', [`${Out} properties b type`, ['integer', 'null']]],
])('%s', (message, change) => {
  expect(breakingChanges(api(), api(change), 'api')).toContain(message);
});

test.each<[string, [string, unknown]]>([
  ['a new call', ['paths /x get', { operationId: 'get-x', responses: {} }]],
  ['a new parameter that may be absent', [`${put} parameters 1`, { name: 'r', in: 'query', schema: {} }]],
  ['one more value of a parameter', [`${put} parameters 0 schema enum`, ['u', 'v', 'w']]],
  ['a wider limit', ['paths /x parameters 0 schema maxLength', 10]],
  ['a scope that is no longer needed', [`${put} security`, [{ oauth2: [] }]]],
  ['a new member of a body', [`${In} properties c`, { type: 'string' }]],
  ['a member of a body that may now be absent', [`${In} required`, []]],
  ['one more type of a body', [`${In} properties a type`, ['string', 'null']]],
  ['a new member of an answer', [`${Out} properties c`, { type: 'string' }]],
  ['a member of an answer that is now always there', [`${Out} required`, ['a', 'b']]],
  ['a narrower answer', [`${Out} properties b minimum`, 0]],
  ['a new error', [`${put} responses 404`, {}]],
  ['a description', [`${put} description`, 'x']],
])('%s is compatible', (_, change) => {
  expect(breakingChanges(api(), api(change), 'api')).toEqual([]);
});

describe('callbacks and endpoints of integrators have the opposite direction', () => {
  const hook = (body: unknown, answer: unknown): JsonObject => {
    const json = (schema: unknown) => ({ content: { 'application/json': { schema } } });
    return {
      webhooks: {
        h: { post: { operationId: 'h', requestBody: json(body), responses: { '200': json(answer) } } },
      },
    } as unknown as JsonObject;
  };
  const more = { ...item, required: ['a', 'b'] };
  const none = { ...item, required: [] };
  test('members that the platform sends must not be removed', () => {
    expect(breakingChanges(hook(item, item), hook(none, item), 'callbacks')).toEqual([
      'POST h body/b: may now be absent',
    ]);
    expect(breakingChanges(hook(item, item), hook(more, item), 'callbacks')).toEqual([]);
  });
  test('answers of integrators must still be accepted', () => {
    expect(breakingChanges(hook(item, item), hook(item, more), 'integrator')).toEqual([
      'POST h 200 body/a: is now required',
    ]);
    expect(breakingChanges(hook(item, item), hook(item, none), 'integrator')).toEqual([]);
  });
  test('a removed or new form', () => {
    const one = { oneOf: [item, { type: 'string' }] };
    expect(breakingChanges(hook(item, one), hook(item, item), 'integrator')).not.toEqual([]);
    expect(breakingChanges(hook(item, item), hook(item, one), 'integrator')).toEqual([]);
    expect(breakingChanges(hook(item, item), hook(one, item), 'callbacks')).not.toEqual([]);
    expect(breakingChanges(hook(one, item), hook(item, item), 'callbacks')).toEqual([]);
  });
});

describe('protocols', () => {
  const message = (fields: string) => `syntax = "proto3";\npackage a.v1;\nmessage A {${fields}}\n`;
  function changesOf(before: string, after: string): string {
    const folder = mkdtempSync(join(tmpdir(), 'headset-cloud-proto-'));
    try {
      mkdirSync(join(folder, 'a/v1'), { recursive: true });
      writeFileSync(
        join(folder, 'buf.yaml'),
        readFileSync(resolve(import.meta.dirname, '../../proto/buf.yaml')),
      );
      writeFileSync(join(folder, 'a/v1/a.proto'), message(before));
      const image = join(folder, 'before.binpb');
      execFileSync('buf', ['build', '-o', image], { cwd: folder });
      writeFileSync(join(folder, 'a/v1/a.proto'), message(after));
      return breakingProtocols(folder, image);
    } finally {
      rmSync(folder, { recursive: true, force: true });
    }
  }
  test('a number with a changed type is a breaking change', () => {
    expect(changesOf('string x = 1;', 'int32 x = 1;')).toContain('a/v1/a.proto');
  });
  test('a removed field is a breaking change', () => {
    expect(changesOf('string x = 1;', '')).toContain('a/v1/a.proto');
  });
  test('a new field is compatible', () => {
    expect(changesOf('string x = 1;', 'string x = 1; string y = 2;')).toBe('');
  });
});
