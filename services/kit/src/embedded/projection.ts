import type { Document } from 'bson';
import { Context } from 'mingo/core';
import * as expressions from 'mingo/operators/expression';
import * as projections from 'mingo/operators/projection';
import { Query } from 'mingo/query';
import { serverError } from './store-errors.ts';
import { assign, cloneValue, isDocument } from './values.ts';

/** Makes what the caller gets of a stored document: always a copy. */
export type Projection = (document: Document) => Document;

interface Tree extends Map<string, Tree | true> {}

/** Compiles a projection; without one, the whole document. */
export function compileProjection(projection: Document | undefined): Projection {
  if (!projection || Object.keys(projection).length === 0) return cloneValue;
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
