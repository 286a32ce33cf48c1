import type { Document } from 'mongodb';
import { isDocument, ownField } from './values.ts';

const wholeNumber = /^(0|[1-9]\d*)$/;

/** True for a path's part that may name a place in an array. */
export function isPlace(part: string): boolean {
  return wholeNumber.test(part);
}

/**
 * True when `test` holds for some value at the path, walked as MongoDB walks it: through arrays into
 * each of their documents, and at the end over an array's items and the array itself. A missing field
 * is tested as undefined.
 */
export function anyValueAt(
  document: unknown,
  path: readonly string[],
  test: (value: unknown) => boolean,
  from = 0,
): boolean {
  let value = document;
  for (let i = from; i < path.length; i++) {
    const part = path[i] as string;
    if (Array.isArray(value)) {
      if (isPlace(part) && Number(part) < value.length) {
        if (anyValueAt(value[Number(part)], path, test, i + 1)) return true;
      }
      for (const item of value) {
        if (isDocument(item) && anyValueAt(item, path, test, i)) return true;
      }
      return false;
    }
    if (!isDocument(value)) return test(undefined);
    value = ownField(value, part);
  }
  if (Array.isArray(value)) {
    for (const item of value) if (test(item)) return true;
  }
  return test(value);
}

/** Parts of a dotted path; paths are few, so they are kept. */
export function splitPath(path: string): readonly string[] {
  let parts = known.get(path);
  if (!parts) {
    parts = path.split('.');
    if (known.size > 5000) known.clear();
    known.set(path, parts);
  }
  return parts;
}
const known = new Map<string, readonly string[]>();

/**
 * The value at a path without descending into arrays' items (a place in an array may be named);
 * undefined when there is none. For equality of upserts and `_id`.
 */
export function plainValueAt(document: Document, path: readonly string[]): unknown {
  let value: unknown = document;
  for (const part of path) {
    if (Array.isArray(value)) value = isPlace(part) ? value[Number(part)] : undefined;
    else if (isDocument(value)) value = ownField(value, part);
    else return undefined;
  }
  return value;
}
