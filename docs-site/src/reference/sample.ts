import { isRaw } from './literals';
import { flatten, isObject } from './resolve';
import type { Json, OpenApiDocument, Schema } from './types';

type Members = Readonly<Record<string, unknown>>;

/** Candidate values for strings. The first candidate that matches the schema is used. */
const candidates: readonly string[] = [
  'example',
  'com.example.app',
  '350000000000006',
  '1.2.0',
  '2026-01-01T00:00:00.000Z',
  'https://integrator.example.com/events',
  '02:00:00:00:00:0A',
  'ja',
  'a1B2c3D4e5_1767225600000',
  '5f0c1d6e-7a39-4f5b-9a6a-0d6c7b1e2f3a',
  'v1,',
  '0'.repeat(64),
];
const formats: Readonly<Record<string, RegExp>> = {
  uri: /^https?:\/\//,
  url: /^https?:\/\//,
  'date-time': /^\d{4}-.*Z$/,
  uuid: /^[0-9a-f]{8}-[0-9a-f-]{27}$/,
  date: /^\d{4}-\d\d-\d\d$/,
};

export const typesOf = (schema: Members): string[] => {
  const { type } = schema;
  if (typeof type === 'string') return [type];
  if (Array.isArray(type)) return type.map(String);
  if (isObject(schema['properties']) || isObject(schema['additionalProperties'])) return ['object'];
  return schema['items'] === undefined ? [] : ['array'];
};

function fitsType(value: Json, types: readonly string[]): boolean {
  if (types.length === 0) return true;
  if (value === null) return types.includes('null');
  if (isRaw(value) || typeof value === 'number') return types.includes('number') || types.includes('integer');
  if (Array.isArray(value)) return types.includes('array');
  return types.includes(typeof value);
}

const matches = (pattern: unknown, text: string): boolean => {
  if (typeof pattern !== 'string') return true;
  try {
    return new RegExp(pattern, 'u').test(text);
  } catch {
    return false;
  }
};

function text(schema: Members): string | undefined {
  const {
    format,
    pattern,
    minLength = 0,
    maxLength = Number.POSITIVE_INFINITY,
  } = schema as { format?: string; pattern?: string; minLength?: number; maxLength?: number };
  const known = format ? formats[format] : undefined;
  const all = format === 'date' ? ['2026-01-01'] : candidates;
  return all.find(
    (one) =>
      one.length >= minLength &&
      one.length <= maxLength &&
      (!known || known.test(one)) &&
      matches(pattern, one),
  );
}

/** Example of a scalar: from its schema, from an example of the body (`seen`), or a generated value; else undefined. */
export function scalarExample(schema: Members, seen: readonly Json[]): Json | undefined {
  const types = typesOf(schema);
  if (schema['const'] !== undefined) return schema['const'] as Json;
  const listed = Array.isArray(schema['enum']) ? (schema['enum'] as Json[]) : undefined;
  const own = [
    schema['example'],
    ...(Array.isArray(schema['examples']) ? schema['examples'] : []),
    ...seen,
    schema['default'],
    ...(listed ?? []),
  ] as (Json | undefined)[];
  const fitting = own.filter((one): one is Json => {
    return (
      one !== undefined &&
      (typeof one !== 'object' || one === null || isRaw(one)) &&
      fitsType(one, types) &&
      (!listed || listed.includes(one))
    );
  });
  const found = fitting.find((one) => one !== null && one !== '') ?? fitting[0];
  if (found !== undefined) return found;
  if (types.includes('string')) return text(schema);
  if (types.includes('integer') || types.includes('number')) {
    return (
      (schema['minimum'] as number | undefined) ??
      (typeof schema['maximum'] === 'number' ? Math.min(1, schema['maximum']) : 1)
    );
  }
  return types.includes('boolean') ? true : undefined;
}

/** Generates a value that matches a schema, for bodies without an example in the document. */
export function sampleOf(document: OpenApiDocument, schema: Schema, stack: readonly string[] = []): Json {
  const { value, refs } = flatten(document, schema);
  const inner = [...stack, ...refs];
  const again = (part: unknown): Json => sampleOf(document, part as Schema, inner);
  for (const key of ['example', 'const', 'default'] as const)
    if (value[key] !== undefined) return value[key] as Json;
  const listed = Array.isArray(value['examples']) ? value['examples'] : value['enum'];
  if (Array.isArray(listed) && listed.length > 0) return listed[0] as Json;
  const choice = (value['choices'] as readonly { of: readonly Schema[] }[])[0]?.of[0];
  const types = typesOf(value);
  if (refs.some((one) => stack.includes(one))) return null;
  if (types.includes('object') || isObject(choice)) {
    const properties = isObject(value['properties']) ? value['properties'] : {};
    const chosen = choice === undefined ? undefined : again(choice);
    if (chosen !== undefined && !isObject(chosen) && Object.keys(properties).length === 0) return chosen;
    const own = Object.entries(properties).filter(
      ([, one]) => flatten(document, one as Schema).value['deprecated'] !== true,
    );
    return {
      ...Object.fromEntries(own.map(([name, one]) => [name, again(one)])),
      ...(isObject(chosen) ? (chosen as { [key: string]: Json }) : {}),
    };
  }
  if (types.includes('array')) return value['items'] === undefined ? [] : [again(value['items'])];
  const { description } = value as { description?: string };
  // For messages: the description is a better example than a generic word.
  if (
    types.includes('string') &&
    value['pattern'] === undefined &&
    value['format'] === undefined &&
    description &&
    description.length <= 20
  )
    return description;
  return scalarExample(value, []) ?? null;
}
