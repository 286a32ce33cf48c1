import type { Document } from 'mongodb';
import { isDocument, ownField } from './values.ts';

const wholeNumber = /^(0|[1-9]\d*)$/;

/** True for a part of a path that may be an array index: `0` in `places.0.id`. */
export function isArrayIndex(part: string): boolean {
  return wholeNumber.test(part);
}

/**
 * True if `test` is true for at least one value at the path, by MongoDB's rules. If the path crosses an array, each
 * document in the array is searched. If the value at the end is an array, the array itself and, unless `intoItems` is
 * false, each of its items is tested. A missing field is tested as undefined. `from`: index of the first part of
 * `path`.
 */
export function anyValueAt(
  document: unknown,
  path: readonly string[],
  test: (value: unknown) => boolean,
  from = 0,
  intoItems = true,
): boolean {
  let value = document;
  for (let i = from; i < path.length; i++) {
    const part = path[i] as string;
    if (Array.isArray(value)) {
      if (isArrayIndex(part) && Number(part) < value.length) {
        if (anyValueAt(value[Number(part)], path, test, i + 1, intoItems)) return true;
      }
      for (const item of value) {
        if (isDocument(item) && anyValueAt(item, path, test, i, intoItems)) return true;
      }
      return false;
    }
    if (!isDocument(value)) return test(undefined);
    value = ownField(value, part);
  }
  if (intoItems && Array.isArray(value)) {
    for (const item of value) if (test(item)) return true;
  }
  return test(value);
}

/**
 * True if `test` is true for an array at the path. Searches like `anyValueAt`, but not in the items of an array at
 * the end.
 */
export function anyArrayAt(
  document: unknown,
  path: readonly string[],
  test: (items: readonly unknown[]) => boolean,
): boolean {
  return anyValueAt(document, path, (value) => Array.isArray(value) && test(value), 0, false);
}

/** Splits a dotted path. The result is cached, because a program has few paths and splits them for each query. */
export function splitPath(path: string): readonly string[] {
  let parts = splitPaths.get(path);
  if (!parts) {
    parts = path.split('.');
    if (splitPaths.size > 5000) splitPaths.clear();
    splitPaths.set(path, parts);
  }
  return parts;
}
const splitPaths = new Map<string, readonly string[]>();

/**
 * The value at a path; undefined if there is none. The path crosses arrays only by an array index (`places.0.id`, not
 * `places.id`).
 */
export function plainValueAt(document: Document, path: readonly string[]): unknown {
  let value: unknown = document;
  for (const part of path) {
    if (Array.isArray(value)) value = isArrayIndex(part) ? value[Number(part)] : undefined;
    else if (isDocument(value)) value = ownField(value, part);
    else return undefined;
  }
  return value;
}
