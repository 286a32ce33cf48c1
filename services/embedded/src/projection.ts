import type { Document } from 'mongodb';
import { serverError } from './store-errors.ts';
import { assign, cloneValue, isDocument } from './values.ts';

/** Returns the projected fields of a stored document, always as a copy. */
export type Projection = (document: Document) => Document;

interface Tree extends Map<string, Tree | true> {}

/**
 * Compiles a projection: fields and dotted paths to include, or to exclude. `_id` may be included or excluded in both
 * cases. Without a projection, returns the whole document. Throws MongoDB's error for a mixture and for any other form.
 */
export function compileProjection(projection: Document | undefined): Projection {
  if (!projection || Object.keys(projection).length === 0) return cloneValue;
  const entries = Object.entries(projection);
  for (const [path, value] of entries) {
    const isFlag = typeof value === 'number' || typeof value === 'boolean';
    if (!isFlag || path.includes('$')) {
      throw serverError('badValue', `The embedded store has no projection but of 0 and 1: ${path}`);
    }
  }
  const fields = entries.filter(([path]) => path !== '_id');
  const including = fields.length > 0 ? Boolean(fields[0]?.[1]) : Boolean(projection['_id']);
  if (fields.some(([, value]) => Boolean(value) !== including)) {
    throw serverError('badValue', 'A projection cannot mix inclusion and exclusion of fields.');
  }
  const id = projection['_id'] === undefined ? true : Boolean(projection['_id']);
  const tree = treeOf(fields.map(([path]) => path));
  if (id === including) tree.set('_id', true);
  return (document) => (including ? include(document, tree) : exclude(document, tree)) as Document;
}

function treeOf(paths: readonly string[]): Tree {
  const tree: Tree = new Map();
  for (const path of paths) {
    let node = tree;
    const parts = path.split('.');
    for (const [i, part] of parts.entries()) {
      const next = node.get(part);
      if (i === parts.length - 1) {
        if (next !== undefined) throw serverError('badValue', `Path collision at ${path}`);
        node.set(part, true);
      } else {
        if (next === true) throw serverError('badValue', `Path collision at ${path}`);
        const inner: Tree = next ?? new Map();
        node.set(part, inner);
        node = inner;
      }
    }
  }
  return tree;
}

/** The included fields of a value; undefined if the value is neither a document nor an array. */
function include(value: unknown, tree: Tree): unknown {
  if (Array.isArray(value)) {
    return value.map((item) => include(item, tree)).filter((item) => item !== undefined);
  }
  if (!isDocument(value)) return undefined;
  const kept: Document = {};
  for (const key of Object.keys(value)) {
    const inner = tree.get(key);
    if (inner === undefined) continue;
    const item = inner === true ? cloneValue(value[key]) : include(value[key], inner);
    if (item !== undefined) assign(kept, key, item);
  }
  return kept;
}

function exclude(value: unknown, tree: Tree): unknown {
  if (Array.isArray(value)) return value.map((item) => exclude(item, tree));
  if (!isDocument(value)) return cloneValue(value);
  const kept: Document = {};
  for (const key of Object.keys(value)) {
    const inner = tree.get(key);
    if (inner === true) continue;
    assign(kept, key, inner ? exclude(value[key], inner) : cloneValue(value[key]));
  }
  return kept;
}
