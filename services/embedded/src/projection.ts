import { Context } from 'mingo/core';
import * as expressions from 'mingo/operators/expression';
import * as projections from 'mingo/operators/projection';
import { Query } from 'mingo/query';
import type { Document } from 'mongodb';
import { plainValueAt, splitPath } from './paths.ts';
import { serverError } from './store-errors.ts';
import { assign, cloneValue, isDocument } from './values.ts';

/** Makes what the caller gets of a stored document: always a copy. */
export type Projection = (document: Document) => Document;

interface Tree extends Map<string, Tree | true> {}

/** Compiles a projection; without one, the whole document. */
export function compileProjection(projection: Document | undefined): Projection {
  if (!projection || Object.keys(projection).length === 0) return cloneValue;
  const slices = Object.entries(projection).filter(([, value]) => isDocument(value) && '$slice' in value);
  if (slices.length > 0) return withSlices(projection, slices);
  const entries = Object.entries(projection);
  if (!entries.every(([path, value]) => isSwitch(value) && !path.includes('$'))) return byMingo(projection);
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

/** `$slice` cuts an array, and lets the other fields be as the rest of the projection has them. */
function withSlices(projection: Document, slices: readonly [string, Document][]): Projection {
  const rest = Object.fromEntries(Object.entries(projection).filter(([, value]) => !isDocument(value)));
  const including = Object.entries(rest).some(([path, value]) => path !== '_id' && value);
  const project = compileProjection(
    including ? { ...rest, ...Object.fromEntries(slices.map(([path]) => [path, 1])) } : rest,
  );
  return (document) => {
    const projected = project(document);
    for (const [path, { $slice }] of slices) {
      const parts = splitPath(path);
      const holder = plainValueAt(projected, parts.slice(0, -1));
      const name = parts[parts.length - 1] as string;
      const items = isDocument(holder) ? holder[name] : undefined;
      if (isDocument(holder) && Array.isArray(items)) holder[name] = cut(items, $slice);
    }
    return projected;
  };
}

function cut(items: unknown[], slice: unknown): unknown[] {
  const [skip, count] = Array.isArray(slice) ? (slice as number[]) : [undefined, slice as number];
  if (!Number.isInteger(count) || (skip !== undefined && !Number.isInteger(skip))) {
    throw serverError('badValue', '$slice needs one or two integers');
  }
  const most = count as number;
  if (skip === undefined) return most < 0 ? items.slice(most) : items.slice(0, most);
  const start = skip < 0 ? Math.max(items.length + skip, 0) : skip;
  return items.slice(start, start + most);
}

function isSwitch(value: unknown): boolean {
  return typeof value === 'number' || typeof value === 'boolean';
}

function treeOf(paths: readonly string[]): Tree {
  const tree: Tree = new Map();
  for (const path of paths) {
    let at = tree;
    const parts = path.split('.');
    for (const [i, part] of parts.entries()) {
      const next = at.get(part);
      if (i === parts.length - 1) {
        if (next !== undefined) throw serverError('badValue', `Path collision at ${path}`);
        at.set(part, true);
      } else {
        if (next === true) throw serverError('badValue', `Path collision at ${path}`);
        const inner: Tree = next ?? new Map();
        at.set(part, inner);
        at = inner;
      }
    }
  }
  return tree;
}

/** Undefined where an item cannot hold the fields (a scalar on the way). */
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

const options = {
  context: Context.init()
    // biome-ignore lint/suspicious/noExplicitAny: a module namespace is an operator table
    .addProjectionOps(projections as any)
    // biome-ignore lint/suspicious/noExplicitAny: the same
    .addExpressionOps(expressions as any),
  scriptEnabled: false,
};

/** Projections with operators ($slice, $elemMatch, expressions). */
function byMingo(projection: Document): Projection {
  const query = new Query({}, options);
  return (document) => query.find<Document>([cloneValue(document)], projection).all()[0] as Document;
}
