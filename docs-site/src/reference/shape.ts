import { apiWords } from '../strings/api';
import { factsOf } from './facts';
import { isRaw } from './literals';
import { flatten, isObject, nameOfRef } from './resolve';
import { scalarExample, typesOf } from './sample';
import type { Choice, Field, Json, OpenApiDocument, Schema, Shape } from './types';

interface Place {
  readonly anchor: string;
  readonly name: string;
}
interface Context {
  readonly document: OpenApiDocument;
  /** References around the current schema, with the field of each. A recursive schema ends at such a reference. */
  readonly open: ReadonlyMap<string, Place>;
  /** True for schemas of requests, where "no other fields" is shown. */
  readonly isSent: boolean;
}

/** Part of an anchor. Has no white space, so that it is a valid id. */
export const anchorPart = (name: string): string => name.replace(/\s+/g, '_');

const slug = (label: string): string =>
  label
    .trim()
    .replace(/[^\p{L}\p{N}_.-]+/gu, '-')
    .replace(/^-+|-+$/g, '');

const members = (seen: readonly Json[], name: string): Json[] =>
  seen.flatMap((one) =>
    isObject(one) && !isRaw(one) && Object.hasOwn(one, name) ? [one[name] as Json] : [],
  );
const elements = (seen: readonly Json[]): Json[] =>
  seen.flatMap((one) => (Array.isArray(one) ? (one as Json[]) : []));

function typeName(
  value: Readonly<Record<string, unknown>>,
  item: Shape | undefined,
  choices: readonly Choice[] = [],
): string {
  const types = typesOf(value);
  const { format } = value as { format?: string };
  const names = types.map((type) => {
    if (type === 'array') return item?.type ? `array<${item.type}>` : 'array';
    return format && type !== 'null' && type !== 'object' ? `${type} (${format})` : type;
  });
  if (names.length > 0) return names.join(' | ');
  const variants = choices.flatMap((one) => one.variants.map(({ shape }) => shape.type));
  if (variants.length > 0) return [...new Set(variants)].join(' | ');
  const fixed = value['const'] ?? (value['enum'] as unknown[] | undefined)?.[0];
  if (fixed !== undefined) return fixed === null ? 'null' : typeof fixed;
  return JSON.stringify(value['not']) === '{}' ? apiWords.never : apiWords.any;
}

/** Fields of an object: named fields, fields that match a pattern, and fields of any other name. */
function fieldsOf(
  context: Context,
  value: Readonly<Record<string, unknown>>,
  place: Place,
  seen: readonly Json[],
): Field[] {
  const properties = isObject(value['properties']) ? value['properties'] : {};
  const required = Array.isArray(value['required']) ? (value['required'] as string[]) : [];
  const field = (name: string, part: string, schema: unknown, values: readonly Json[]): Field => {
    const anchor = `${place.anchor}.${part}`;
    return {
      name,
      anchor,
      required: required.includes(name),
      shape: shapeIn(context, schema as Schema, { anchor, name }, values),
    };
  };
  const fields = Object.entries(properties).map(([name, schema]) =>
    field(name, anchorPart(name), schema, members(seen, name)),
  );
  // Adds required fields that have no schema.
  for (const name of required)
    if (!Object.hasOwn(properties, name))
      fields.push(field(name, anchorPart(name), true, members(seen, name)));
  const patterns = isObject(value['patternProperties']) ? value['patternProperties'] : {};
  for (const [pattern, schema] of Object.entries(patterns)) {
    fields.push(field(apiWords.matchingKey(pattern), anchorPart(pattern), schema, []));
  }
  for (const key of ['additionalProperties', 'unevaluatedProperties']) {
    if (!isObject(value[key])) continue;
    const others = seen.flatMap((one) =>
      isObject(one)
        ? Object.entries(one)
            .filter(([name]) => !Object.hasOwn(properties, name))
            .map(([, other]) => other as Json)
        : [],
    );
    fields.push(field(apiWords.anyKey, '*', value[key], others));
  }
  return fields;
}

function choicesOf(
  context: Context,
  value: Readonly<Record<string, unknown>>,
  place: Place,
  seen: readonly Json[],
): Choice[] {
  const all = value['choices'] as readonly {
    kind: 'oneOf' | 'anyOf';
    of: readonly Schema[];
    discriminator?: { propertyName?: string; mapping?: Record<string, string> };
  }[];
  return all.map(({ kind, of, discriminator }, choice) => {
    const taken = new Set<string>();
    const variants = of.map((schema, index) => {
      const ref = isObject(schema) && typeof schema['$ref'] === 'string' ? schema['$ref'] : undefined;
      const { title } = flatten(context.document, schema).value as { title?: string };
      const mapped = Object.entries(discriminator?.mapping ?? {}).filter(
        ([, one]) => one === ref || (ref && one === nameOfRef(ref)),
      );
      const label = mapped.map(([name]) => name).join(', ') || title || (ref ? nameOfRef(ref) : '');
      let part = slug(label) || String(index + 1);
      if (taken.has(part)) part = `${part}-${index + 1}`;
      taken.add(part);
      const anchor = `${place.anchor}.${choice > 0 ? `${choice + 1}-` : ''}${part}`;
      const shape = shapeIn(context, schema, { anchor, name: label || place.name }, seen);
      return { label: label || shape.type || apiWords.variant(index + 1), anchor, shape };
    });
    return {
      kind,
      variants,
      ...(discriminator?.propertyName ? { discriminator: discriminator.propertyName } : {}),
    };
  });
}

function shapeIn(context: Context, schema: Schema, place: Place, seen: readonly Json[]): Shape {
  const { value, refs } = flatten(context.document, schema);
  const { title, description } = value as { title?: string; description?: string };
  const base = {
    ...(title ? { title } : {}),
    ...(description ? { description } : {}),
    deprecated: value['deprecated'] === true,
    readOnly: value['readOnly'] === true,
    writeOnly: value['writeOnly'] === true,
    fields: [],
    closed: false,
    choices: [],
  };
  const again = refs.find((one) => context.open.has(one));
  const same = again === undefined ? undefined : context.open.get(again);
  if (same) return { ...base, type: typeName(value, undefined), facts: factsOf(value, undefined), same };
  const inner: Context = {
    ...context,
    open: new Map([...context.open, ...refs.map((one) => [one, place] as const)]),
  };
  const item =
    value['items'] === undefined
      ? undefined
      : shapeIn(inner, value['items'] as Schema, place, elements(seen));
  const fields = fieldsOf(inner, value, place, seen);
  const choices = choicesOf(inner, value, place, seen);
  const isScalar = fields.length === 0 && choices.length === 0 && item === undefined;
  const example = isScalar ? scalarExample(value, seen) : undefined;
  return {
    ...base,
    type: typeName(value, item, choices),
    facts: factsOf(value, example),
    ...(example === undefined ? {} : { example }),
    fields,
    closed:
      context.isSent && (value['additionalProperties'] === false || value['unevaluatedProperties'] === false),
    ...(item ? { item } : {}),
    choices,
  };
}

/** Describes a schema. Anchors of fields begin with the anchor of `place`. `seen`: examples of the whole value. */
export const shapeOf = (
  document: OpenApiDocument,
  schema: Schema,
  place: Place,
  seen: readonly Json[] = [],
  isSent = false,
): Shape => shapeIn({ document, open: new Map(), isSent }, schema, place, seen);
