import { type JsonObject, resolve } from '@headset-cloud/gateway/openapi/document.ts';

/**
 * Direction of a value. `received`: requests of integrators and answers of their endpoints; old ones must still be
 * accepted. `sent`: our answers and callbacks; new ones must match the old schema.
 */
export type Direction = 'received' | 'sent';

/** A schema in the document that its references point into. */
export interface Side {
  readonly document: JsonObject;
  readonly schema: JsonObject;
}

/** Lower limits (stricter if larger), and upper limits (stricter if smaller). */
const lower = ['minimum', 'exclusiveMinimum', 'minLength', 'minItems', 'minProperties'];
const upper = ['maximum', 'exclusiveMaximum', 'maxLength', 'maxItems', 'maxProperties'];

/** The breaking changes of a schema for users of the old one; empty: compatible. */
export function breakingSchema(
  before: Side,
  after: Side,
  direction: Direction,
  at: string,
  seen: ReadonlySet<string> = new Set(),
): string[] {
  const pair = `${before.schema['$ref']}>${after.schema['$ref']}`;
  if (before.schema['$ref'] && seen.has(pair)) return [];
  const inner = new Set([...seen, pair]);
  const old = resolve(before.document, before.schema);
  const now = resolve(after.document, after.schema);
  const deeper = (a: unknown, b: unknown, where: string) =>
    breakingSchema(
      { document: before.document, schema: (a ?? {}) as JsonObject },
      { document: after.document, schema: (b ?? {}) as JsonObject },
      direction,
      where,
      inner,
    );
  if (old['oneOf'] || now['oneOf']) return breakingForms(old, now, direction, at, deeper);
  return [
    ...breakingValues(old, now, direction, at),
    ...breakingMembers(old, now, direction, at),
    ...sharedMembers(old, now).flatMap((name) =>
      deeper(properties(old)[name], properties(now)[name], `${at}/${name}`),
    ),
    ...(old['items'] || now['items'] ? deeper(old['items'], now['items'], `${at}/*`) : []),
    ...(typeof old['additionalProperties'] === 'object' && typeof now['additionalProperties'] === 'object'
      ? deeper(old['additionalProperties'], now['additionalProperties'], `${at}/*`)
      : []),
  ];
}

/** Types, enumerations, patterns and limits. */
function breakingValues(old: JsonObject, now: JsonObject, direction: Direction, at: string): string[] {
  const found: string[] = [];
  const [wide, narrow] = direction === 'received' ? [old, now] : [now, old];
  const lost = types(wide).filter((t) => !types(narrow).includes(t));
  if (lost.length > 0) {
    found.push(`${at}: ${lost} ${direction === 'received' ? 'is no longer accepted' : 'may now be sent'}`);
  }
  // A new sent value is compatible, because clients ignore unknown values.
  if (direction === 'received' && valuesOf(now)) {
    const gone = valuesOf(old)?.filter((v) => !valuesOf(now)?.includes(v)) ?? ['free text'];
    if (gone.length > 0) found.push(`${at}: ${gone} is no longer accepted`);
  }
  if (direction === 'sent' && valuesOf(old) && !valuesOf(now)) found.push(`${at}: any value may now be sent`);
  for (const word of ['pattern', 'format']) {
    const [strict, loose] = direction === 'received' ? [now, old] : [old, now];
    if (strict[word] !== undefined && strict[word] !== loose[word]) {
      found.push(`${at}: ${word} was ${old[word] ?? 'free'}, is ${now[word] ?? 'free'}`);
    }
  }
  for (const word of [...lower, ...upper]) {
    if (isStricter(word, wide[word], narrow[word])) {
      found.push(`${at}: ${word} was ${old[word] ?? 'free'}, is ${now[word] ?? 'free'}`);
    }
  }
  return found;
}

/** True if the limit `narrow` rejects a value that the limit `wide` allows. */
function isStricter(word: string, wide: unknown, narrow: unknown): boolean {
  if (narrow === undefined || narrow === wide) return false;
  if (wide === undefined) return true;
  return lower.includes(word) ? Number(narrow) > Number(wide) : Number(narrow) < Number(wide);
}

/** Members that are removed, or become required or optional. */
function breakingMembers(old: JsonObject, now: JsonObject, direction: Direction, at: string): string[] {
  const found: string[] = [];
  for (const name of Object.keys(properties(old))) {
    if (!(name in properties(now))) found.push(`${at}/${name}: is gone`);
  }
  for (const name of required(now)) {
    if (direction === 'received' && !required(old).includes(name))
      found.push(`${at}/${name}: is now required`);
  }
  for (const name of required(old)) {
    if (direction === 'sent' && name in properties(now) && !required(now).includes(name)) {
      found.push(`${at}/${name}: may now be absent`);
    }
  }
  if (
    direction === 'received' &&
    now['additionalProperties'] === false &&
    old['additionalProperties'] !== false &&
    (old['properties'] || old['type'] === 'object')
  ) {
    found.push(`${at}: unknown members are no longer accepted`);
  }
  return found;
}

type Deeper = (a: unknown, b: unknown, where: string) => string[];

/** Each old form of a oneOf must still be there: some new form it fits without a break. */
function breakingForms(
  old: JsonObject,
  now: JsonObject,
  direction: Direction,
  at: string,
  deeper: Deeper,
): string[] {
  const forms = (s: JsonObject) => s['oneOf'] as unknown[] | undefined;
  const [from, to] = direction === 'received' ? [old, now] : [now, old];
  return (forms(from) ?? [from]).flatMap((form, i) => {
    const tries = (forms(to) ?? [to]).map((other) =>
      direction === 'received' ? deeper(form, other, `${at}(${i})`) : deeper(other, form, `${at}(${i})`),
    );
    return tries.some((t) => t.length === 0) ? [] : (tries.toSorted((a, b) => a.length - b.length)[0] ?? []);
  });
}

const properties = (s: JsonObject) => (s['properties'] ?? {}) as Record<string, unknown>;
const required = (s: JsonObject) => (s['required'] ?? []) as string[];
const sharedMembers = (a: JsonObject, b: JsonObject) =>
  Object.keys(properties(a)).filter((name) => name in properties(b));

const allTypes = ['string', 'number', 'integer', 'boolean', 'object', 'array', 'null'];

/** The types that a schema lets pass; a number lets integers pass. */
function types(schema: JsonObject): string[] {
  const given = schema['type'];
  if (given === undefined) return schema['const'] === undefined && !schema['enum'] ? allTypes : [];
  const named = Array.isArray(given) ? (given as string[]) : [given as string];
  return named.includes('number') ? [...named, 'integer'] : named;
}

function valuesOf(schema: JsonObject): unknown[] | undefined {
  if (schema['const'] !== undefined) return [schema['const']];
  return schema['enum'] as unknown[] | undefined;
}
