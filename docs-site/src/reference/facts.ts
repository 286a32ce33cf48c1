import { apiWords } from '../strings/api';
import { show } from './literals';
import type { Fact, Json } from './types';

type Members = Readonly<Record<string, unknown>>;

/** Keywords that other parts of the page show. */
const elsewhere = new Set([
  ...['type', 'format', 'title', 'description', 'deprecated', 'readOnly', 'writeOnly', 'choices', '$ref'],
  ...['properties', 'required', 'additionalProperties', 'patternProperties', 'items', 'example', 'examples'],
  ...[
    'enum',
    'const',
    'default',
    'pattern',
    'multipleOf',
    'uniqueItems',
    'propertyNames',
    '$comment',
    '$id',
    '$defs',
  ],
  ...['minLength', 'maxLength', 'minItems', 'maxItems', 'minProperties', 'maxProperties'],
  ...[
    'minimum',
    'maximum',
    'exclusiveMinimum',
    'exclusiveMaximum',
    'externalDocs',
    'xml',
    'unevaluatedProperties',
  ],
]);

const words = apiWords.facts;

function range(low: unknown, high: unknown): string | undefined {
  if (low === undefined && high === undefined) return undefined;
  if (high === undefined) return apiWords.atLeast(String(low));
  if (low === undefined) return apiWords.atMost(String(high));
  return low === high ? String(low) : apiWords.between(String(low), String(high));
}

/** Facts of a schema: limits, enum, default and others. Unknown keywords are shown unchanged. */
export function factsOf(schema: Members, example: Json | undefined): Fact[] {
  const facts: Fact[] = [];
  const add = (label: string, ...values: (string | undefined)[]) => {
    const known = values.filter((one) => one !== undefined);
    if (known.length > 0) facts.push({ label, values: known });
  };
  const literal = (name: string) => (Object.hasOwn(schema, name) ? show(schema[name] as Json) : undefined);
  if (Array.isArray(schema['enum'])) add(words.enum, ...schema['enum'].map((one) => show(one as Json)));
  add(words.const, literal('const'));
  add(words.default, literal('default'));
  add(words.length, range(schema['minLength'], schema['maxLength']));
  add(words.range, range(schema['minimum'], schema['maximum']));
  if (typeof schema['exclusiveMinimum'] === 'number')
    add(words.range, apiWords.above(String(schema['exclusiveMinimum'])));
  if (typeof schema['exclusiveMaximum'] === 'number')
    add(words.range, apiWords.below(String(schema['exclusiveMaximum'])));
  add(words.multipleOf, literal('multipleOf'));
  add(words.pattern, literal('pattern'));
  add(words.items, range(schema['minItems'], schema['maxItems']));
  if (schema['uniqueItems'] === true) add(words.unique, words.noneTwice);
  add(words.properties, range(schema['minProperties'], schema['maxProperties']));
  add(words.names, literal('propertyNames'));
  for (const [key, value] of Object.entries(schema)) {
    if (!elsewhere.has(key) && !key.startsWith('x-')) add(key, show(value as Json));
  }
  if (example !== undefined && !Array.isArray(schema['enum']) && !Object.hasOwn(schema, 'const'))
    add(words.example, show(example));
  return facts;
}
