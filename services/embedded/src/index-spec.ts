import type { IndexDescription } from '@headset-cloud/store/operations.ts';
import type { Document } from 'mongodb';
import { compileFilter, type Predicate } from './filter.ts';
import { afterPrefix, emptyArrayKey, keyText } from './order.ts';
import { isArrayIndex, splitPath } from './paths.ts';
import { serverError } from './store-errors.ts';
import { isDocument, normaliseDocument, ownField } from './values.ts';

/** One field of an index. */
export interface IndexPart {
  readonly path: string;
  readonly parts: readonly string[];
  readonly direction: 1 | -1;
}

/** An index's description, checked and completed. */
export interface IndexSpec {
  readonly name: string;
  readonly key: Document;
  readonly parts: readonly IndexPart[];
  readonly unique: boolean;
  readonly sparse: boolean;
  readonly partial: Document | undefined;
  /**
   * True if a partial index contains the document, because it matches the expression. Always true for other indexes.
   */
  readonly covers: Predicate;
  readonly expireAfterSeconds: number | undefined;
  /** Top-level fields that a document's entries depend on. */
  readonly fields: ReadonlySet<string>;
}

const supportedOptions = new Set([
  'key',
  'name',
  'unique',
  'sparse',
  'partialFilterExpression',
  'expireAfterSeconds',
]);

/**
 * Checks an index's description. Throws MongoDB's error for an index that MongoDB rejects, and a separate error for
 * features that the embedded store does not have (text, hashed, wildcard, collation …).
 */
export function parseIndex(description: IndexDescription): IndexSpec {
  const unsupportedOption = Object.keys(description).find((option) => !supportedOptions.has(option));
  if (unsupportedOption) throw unsupported(`the option ${unsupportedOption}`);
  const entries = Object.entries(description.key);
  if (entries.length === 0) throw serverError('cannotCreateIndex', 'Index keys cannot be empty.');
  const parts = entries.map(([path, direction]): IndexPart => {
    if (direction !== 1 && direction !== -1)
      throw unsupported(`the kind ${JSON.stringify(direction)} of ${path}`);
    const names = splitPath(path);
    if (path.includes('$') || names.includes('')) throw unsupported(`the path ${JSON.stringify(path)}`);
    if (names.some(isArrayIndex)) throw unsupported(`an array index (${path})`);
    return { path, parts: names, direction };
  });
  const { partialFilterExpression, expireAfterSeconds, sparse } = description;
  if (partialFilterExpression && sparse) {
    throw serverError('cannotCreateIndex', 'cannot mix "partialFilterExpression" and "sparse" options');
  }
  if (expireAfterSeconds !== undefined && (parts.length > 1 || expireAfterSeconds < 0)) {
    throw serverError('cannotCreateIndex', 'TTL indexes are single-field indexes, with seconds of 0 or more');
  }
  const partial = partialFilterExpression ? normaliseDocument(partialFilterExpression) : undefined;
  return {
    name: description.name ?? entries.map(([path, direction]) => `${path}_${String(direction)}`).join('_'),
    key: Object.fromEntries(entries),
    parts,
    unique: description.unique === true,
    sparse: sparse === true,
    partial,
    covers: partial ? compileFilter(partial) : () => true,
    expireAfterSeconds,
    fields: new Set([...parts.map((part) => part.parts[0] as string), ...topLevelFields(partial ?? {})]),
  };
}

/** Texts for comparison: indexes with the same key and options are the same index. */
export function indexIdentity(spec: IndexSpec): { key: string; options: string } {
  return {
    key: JSON.stringify(Object.entries(spec.key)),
    options: JSON.stringify([
      spec.unique,
      spec.sparse,
      spec.partial ?? null,
      spec.expireAfterSeconds ?? null,
    ]),
  };
}

/**
 * A document's keys in an index, as latin1 texts. `multikey`: a field contains an array; there is a key for each
 * item.
 */
export interface DocumentKeys {
  readonly keys: readonly string[];
  readonly multikey: boolean;
}

const noKeys: DocumentKeys = { keys: [], multikey: false };

/** Returns a document's keys in an index; none if a sparse or partial index does not contain the document. */
export function documentKeys(spec: IndexSpec, document: Document): DocumentKeys {
  if (!spec.covers(document)) return noKeys;
  let key = '';
  let missing = 0;
  for (const { parts, direction } of spec.parts) {
    const value = valueWithoutArrays(document, parts);
    if (value === hasArray) return keysOfArrays(spec, document);
    if (value === undefined) missing += 1;
    key += keyText(value, direction);
  }
  if (spec.sparse && missing === spec.parts.length) return noKeys;
  return { keys: [key], multikey: false };
}

function keysOfArrays(spec: IndexSpec, document: Document): DocumentKeys {
  let missing = 0;
  const lists: unknown[][] = [];
  for (const part of spec.parts) {
    const found: unknown[] = [];
    indexValues(document, part.parts, 0, found);
    if (found.every((value) => value === undefined)) missing += 1;
    lists.push(found);
  }
  if (spec.sparse && missing === spec.parts.length) return noKeys;
  refuseParallelArrays(spec, lists);
  return { keys: [...new Set(combinations(spec.parts, lists))].sort(), multikey: true };
}

const hasArray = Symbol('through an array');

/** The value at a path; undefined for a missing field, `hasArray` if there is an array on the path or at its end. */
function valueWithoutArrays(document: Document, path: readonly string[]): unknown {
  let value: unknown = document;
  for (const part of path) {
    if (Array.isArray(value)) return hasArray;
    if (!isDocument(value)) return undefined;
    value = ownField(value, part);
  }
  return Array.isArray(value) ? hasArray : value;
}

/**
 * Adds to `found` the values at a path by which MongoDB indexes and sorts: each item of an array, undefined for a
 * missing field. `from`: index of the first part. Returns true if the path contains an array.
 */
export function indexValues(
  document: unknown,
  path: readonly string[],
  from: number,
  found: unknown[],
): boolean {
  let value = document;
  for (let i = from; i < path.length; i++) {
    if (Array.isArray(value)) {
      if (value.length === 0) found.push(undefined);
      for (const item of value) {
        if (isDocument(item)) indexValues(item, path, i, found);
        else found.push(undefined);
      }
      return true;
    }
    if (!isDocument(value)) {
      found.push(undefined);
      return false;
    }
    value = ownField(value, path[i] as string);
  }
  if (!Array.isArray(value)) {
    found.push(value);
    return false;
  }
  if (value.length === 0) found.push(emptyArrayKey);
  else found.push(...value);
  return true;
}

/** The range of keys that begin with `key`: from `lower` (inclusive) to `upper` (exclusive). */
export function keyRange(key: Uint8Array): { lower: Uint8Array; upper: Uint8Array } {
  return { lower: key, upper: afterPrefix(key) };
}

function combinations(parts: readonly IndexPart[], lists: readonly unknown[][]): string[] {
  let keys = [''];
  for (const [i, { direction }] of parts.entries()) {
    const texts = (lists[i] as unknown[]).map((value) => keyText(value, direction));
    keys = keys.flatMap((key) => texts.map((text) => key + text));
  }
  return keys;
}

function refuseParallelArrays(spec: IndexSpec, lists: readonly unknown[][]): void {
  const arrays = new Set(
    spec.parts.filter((_, i) => (lists[i]?.length ?? 0) > 1).map((part) => part.parts[0] as string),
  );
  if (arrays.size > 1) {
    throw serverError(
      'cannotIndexParallelArrays',
      `cannot index parallel arrays [${[...arrays].join('] [')}]`,
    );
  }
}

function topLevelFields(filter: Document): string[] {
  return Object.entries(filter).flatMap(([path, condition]) => {
    if (!path.startsWith('$')) return [splitPath(path)[0] as string];
    return Array.isArray(condition) ? (condition as Document[]).flatMap(topLevelFields) : [];
  });
}

function unsupported(what: string): Error {
  return serverError('cannotCreateIndex', `The embedded store cannot make an index with ${what}.`);
}
