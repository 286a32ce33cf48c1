import type { OpenApiDocument, Schema } from './types';

type Members = Readonly<Record<string, unknown>>;

export const isObject = (value: unknown): value is Members =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** Returns the target of a `$ref` inside the document. The bundled document has no other references. */
function target(document: OpenApiDocument, ref: string): unknown {
  if (!ref.startsWith('#/')) throw new Error(`$ref "${ref}" does not point into the document`);
  let value: unknown = document;
  for (const part of ref.slice(2).split('/')) {
    const name = decodeURIComponent(part).replaceAll('~1', '/').replaceAll('~0', '~');
    if (Array.isArray(value)) value = value[Number(name)];
    else value = isObject(value) && Object.hasOwn(value, name) ? value[name] : undefined;
  }
  if (value === undefined) throw new Error(`$ref "${ref}" has no target`);
  return value;
}

/** Follows references. Members next to a `$ref` have priority (OpenAPI 3.1). `refs`: the followed references. */
export function resolve(
  document: OpenApiDocument,
  value: unknown,
): { readonly value: Members; readonly refs: readonly string[] } {
  const refs: string[] = [];
  let members = isObject(value) ? value : {};
  while (typeof members['$ref'] === 'string') {
    const { $ref, ...beside } = members as { $ref: string } & Members;
    if (refs.includes($ref)) throw new Error(`$ref "${$ref}" refers to itself`);
    refs.push($ref);
    const found = target(document, $ref);
    members = { ...(isObject(found) ? found : {}), ...beside };
  }
  return { value: members, refs };
}

export const nameOfRef = (ref: string): string => ref.slice(ref.lastIndexOf('/') + 1);

const larger = (a: unknown, b: unknown) => Math.max(Number(a), Number(b));
const smaller = (a: unknown, b: unknown) => Math.min(Number(a), Number(b));
const lists = (a: unknown, b: unknown): unknown[] => [
  ...(Array.isArray(a) ? a : []),
  ...(Array.isArray(b) ? b : []),
];

/** Merges keywords that two parts of an `allOf` have. For other keywords, the outer value has priority. */
const joins: Readonly<Record<string, (a: unknown, b: unknown) => unknown>> = {
  required: (a, b) => [...new Set(lists(a, b))],
  minimum: larger,
  minLength: larger,
  minItems: larger,
  minProperties: larger,
  exclusiveMinimum: larger,
  maximum: smaller,
  maxLength: smaller,
  maxItems: smaller,
  maxProperties: smaller,
  exclusiveMaximum: smaller,
  enum: (a, b) => (a as unknown[]).filter((one) => (b as unknown[]).includes(one)),
  properties: (a, b) => {
    const all: Record<string, unknown> = { ...(a as Members) };
    for (const [name, schema] of Object.entries(b as Members)) {
      all[name] = Object.hasOwn(all, name) ? { allOf: [all[name], schema] } : schema;
    }
    return all;
  },
  additionalProperties: (a, b) =>
    a === false || b === false ? false : isObject(a) && isObject(b) ? { allOf: [a, b] } : isObject(a) ? a : b,
};

/**
 * Resolves the references of a schema and merges its `allOf`. The `oneOf` and `anyOf` of all parts are in `choices`.
 * `refs`: all followed references, to detect a recursion.
 */
export function flatten(
  document: OpenApiDocument,
  schema: Schema,
  within: readonly string[] = [],
): { readonly value: Members; readonly refs: readonly string[] } {
  if (schema === true) return { value: { choices: [] }, refs: [] };
  if (schema === false) return { value: { not: {}, choices: [] }, refs: [] };
  const { value, refs } = resolve(document, schema);
  const circle = refs.find((one) => within.includes(one));
  if (circle) throw new Error(`allOf of "${circle}" refers to itself`);
  const { allOf, oneOf, anyOf, discriminator, ...own } = value;
  const choices = [
    ...(Array.isArray(oneOf) ? [{ kind: 'oneOf', of: oneOf, discriminator }] : []),
    ...(Array.isArray(anyOf) ? [{ kind: 'anyOf', of: anyOf, discriminator }] : []),
  ];
  const all: Record<string, unknown> = { ...own, choices };
  const followed = [...refs];
  for (const part of Array.isArray(allOf) ? (allOf as Schema[]) : []) {
    const inner = flatten(document, part, [...within, ...refs]);
    followed.push(...inner.refs);
    for (const [key, member] of Object.entries(inner.value)) {
      if (key === 'choices') all[key] = lists(all[key], member);
      else if (!Object.hasOwn(all, key)) all[key] = member;
      else if (joins[key]) all[key] = joins[key](all[key], member);
    }
  }
  return { value: all, refs: followed };
}
