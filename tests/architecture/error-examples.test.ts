import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import {
  apiDocuments,
  type JsonObject,
  operationsOf,
  readDocument,
  resolve,
} from '@headset-cloud/gateway/openapi/document.ts';
import { expect, test } from '@jest/globals';
import { root, sources } from './imports.ts';

/** Literals shorter than this would match any message. */
const leastFixedCharacters = 10;

const quoted = (text: string) => text.replaceAll(/[.*+?^${}()|[\]\\]/g, '\\$&');

/** Messages that a file's literals can form: the fixed parts of its strings and templates, with anything between them. */
function literalsOf(file: string): RegExp[] {
  const found = readFileSync(join(root, file), 'utf8').matchAll(/`((?:[^`\\]|\\.)*)`|'((?:[^'\\\n]|\\.)*)'/g);
  return [...found].flatMap(([, template, text]) => {
    const parts = template === undefined ? [text ?? ''] : template.split(/\$\{[^}]*\}/);
    if (parts.join('').length < leastFixedCharacters) return [];
    return [new RegExp(`^${parts.map(quoted).join('.+')}$`)];
  });
}

test('the code sends every message in the examples of errors', () => {
  const known = ['gateway/src', 'services']
    .flatMap(sources)
    .filter((file) => !/\.test\.ts$|\/testing\//.test(file))
    .flatMap(literalsOf);
  const messages = apiDocuments.flatMap((name) => {
    const document = readDocument(name);
    return operationsOf(document).flatMap(({ responses }) =>
      Object.entries(responses)
        .filter(([status]) => Number(status) >= 400)
        .flatMap(([, { content }]) => {
          const { examples = {} } =
            (content as Record<string, { examples?: JsonObject }>)['application/json'] ?? {};
          return Object.values(examples).map((one) => resolve(document, one)['value'] as { message: string });
        })
        .map(({ message }) => message),
    );
  });
  expect(messages.length).toBeGreaterThan(500);
  expect([...new Set(messages)].filter((one) => !known.some((form) => form.test(one)))).toEqual([]);
});
