import type { Document } from 'mongodb';
import { compileFilter, isOperators, type Predicate } from './filter.ts';
import { sameValue } from './order.ts';
import { isPlace, plainValueAt, splitPath } from './paths.ts';
import { serverError } from './store-errors.ts';
import {
  type FieldOperator,
  fieldOperators,
  removed,
  type UpdateContext,
  unchanged,
} from './update-operators.ts';
import { compileArrayFilters, concretePaths, positionFinder } from './update-paths.ts';
import { applyPipeline } from './update-pipeline.ts';
import { assign, isDocument, ownField } from './values.ts';

/**
 * Changes `document` in place and answers the names of its top-level fields that are now different
 * (none: the update changed nothing). Throws the server's error; then `document` is spoilt.
 */
export type Update = (document: Document, context: UpdateContext) => readonly string[];

interface Change {
  readonly name: string;
  readonly path: string;
  readonly parts: readonly string[];
  readonly operand: unknown;
  readonly operator: FieldOperator;
}

/**
 * Compiles a normalised update (operators or a pipeline). `filter` is what the document was found by
 * (for the positional `$`).
 */
export function compileUpdate(
  update: Document | readonly Document[],
  filter: Document,
  arrayFilters: readonly Document[] = [],
): Update {
  if (Array.isArray(update)) {
    return (document) => guardId(document, () => applyPipeline(document, update as Document[]));
  }
  const changes = listChanges(update as Document);
  refuseConflicts(changes, (update as Document)['$rename']);
  const filters: ReadonlyMap<string, Predicate> = compileArrayFilters(arrayFilters, changes);
  const renames = Object.entries(((update as Document)['$rename'] ?? {}) as Document);
  const needsId = changes.some((change) => change.parts[0] === '_id');
  return (document, context) => {
    const run = (): readonly string[] => {
      const touched: string[] = [];
      let find: ((arrayPath: string) => number) | undefined;
      for (const change of changes) {
        if (!change.path.includes('$')) {
          if (applyAt(document, change, change.parts, context)) note(touched, change.parts);
          continue;
        }
        find ??= positionFinder(document, filter);
        for (const parts of concretePaths(document, change.parts, filters, find)) {
          if (applyAt(document, change, parts, context)) note(touched, parts);
        }
      }
      for (const [from, to] of renames) rename(document, from, String(to), touched, context);
      return touched;
    };
    return needsId ? guardId(document, run) : run();
  };
}

function listChanges(update: Document): Change[] {
  const changes: Change[] = [];
  for (const name of Object.keys(update)) {
    const fields = update[name];
    const operator = fieldOperators[name];
    if (!operator && name !== '$rename') {
      throw serverError('failedToParse', `Unknown modifier: ${name}. Expected a valid update modifier`);
    }
    if (!isDocument(fields)) {
      throw serverError('failedToParse', `Modifiers operate on fields but we found another type: ${name}`);
    }
    if (!operator) continue;
    for (const path of Object.keys(fields)) {
      const parts = splitPath(path);
      if (parts.includes('')) {
        throw serverError('emptyFieldName', `The update path '${path}' contains an empty field name`);
      }
      if (path.startsWith('$')) {
        throw serverError('dollarPrefixedFieldName', `The dollar ($) prefixed field '${path}' is not valid`);
      }
      changes.push({ name, path, parts, operand: fields[path], operator });
    }
  }
  // MongoDB adds new fields in the order of their names.
  return changes.length > 1 ? changes.sort((a, b) => comparePaths(a.parts, b.parts)) : changes;
}

function comparePaths(a: readonly string[], b: readonly string[]): number {
  for (let i = 0; i < Math.min(a.length, b.length); i++) {
    const x = a[i] as string;
    const y = b[i] as string;
    if (x === y) continue;
    return isPlace(x) && isPlace(y) ? Number(x) - Number(y) : x < y ? -1 : 1;
  }
  return a.length - b.length;
}

function refuseConflicts(changes: readonly Change[], renamed: unknown): void {
  const paths = changes.map((change) => change.path);
  if (isDocument(renamed)) paths.push(...Object.keys(renamed), ...Object.values(renamed).map(String));
  if (paths.length < 2) return;
  paths.sort();
  const seen = new Set<string>();
  for (const path of paths) {
    for (let dot = path.length; dot > 0; dot = path.lastIndexOf('.', dot - 1)) {
      if (seen.has(path.slice(0, dot))) {
        throw serverError(
          'conflictingUpdateOperators',
          `Updating the path '${path}' would create a conflict at '${path.slice(0, dot)}'`,
        );
      }
    }
    seen.add(path);
  }
}

function applyAt(
  document: Document,
  change: Change,
  parts: readonly string[],
  context: UpdateContext,
): boolean {
  // Operators that only take something away never make the way to their field; where there can be no
  // such way, $unset alone is content.
  const idle = change.name === '$setOnInsert' && !context.inserting;
  const quiet = idle || change.name === '$unset';
  const makesWay = !idle && !takesAway.has(change.name);
  const last = parts.length - 1;
  let target: unknown = document;
  for (let i = 0; i < last; i++) {
    const part = parts[i] as string;
    let next = read(target, part);
    if (next === undefined) {
      if (!quiet && !canHold(target, part)) throw notViable(part, change.path);
      if (!makesWay) return false;
      next = {};
      write(target, part, next);
    }
    target = next;
  }
  const part = parts[last] as string;
  if (!canHold(target, part)) {
    if (quiet) return false;
    throw notViable(part, change.path);
  }
  const next = change.operator(read(target, part), change.operand, change.path, context);
  if (next === unchanged) return false;
  if (next !== removed) write(target, part, next);
  else if (Array.isArray(target)) target[Number(part)] = null;
  else delete (target as Document)[part];
  return true;
}

const takesAway: ReadonlySet<string> = new Set(['$unset', '$pull', '$pullAll', '$pop']);

function canHold(target: unknown, part: string): boolean {
  return Array.isArray(target) ? isPlace(part) : isDocument(target);
}

function read(target: unknown, part: string): unknown {
  if (Array.isArray(target)) return isPlace(part) ? target[Number(part)] : undefined;
  return isDocument(target) ? ownField(target, part) : undefined;
}

function write(target: unknown, part: string, value: unknown): void {
  if (!Array.isArray(target)) {
    assign(target as Document, part, value);
    return;
  }
  const place = Number(part);
  if (place - target.length > 1_500_000) throw serverError('badValue', 'The array would grow too far');
  while (target.length < place) target.push(null);
  target[place] = value;
}

function notViable(part: string, path: string): Error {
  return serverError('pathNotViable', `Cannot create field '${part}' on the way of the path '${path}'`);
}

function rename(
  document: Document,
  from: string,
  to: string,
  touched: string[],
  context: UpdateContext,
): void {
  const value = plainValueAt(document, splitPath(from));
  if (value === undefined) return;
  const take = (path: string, operand: unknown, name: '$set' | '$unset') => {
    const parts = splitPath(path);
    const operator = fieldOperators[name] as FieldOperator;
    if (applyAt(document, { name, path, parts, operand, operator }, parts, context)) note(touched, parts);
  };
  take(from, '', '$unset');
  take(to, value, '$set');
}

function note(touched: string[], parts: readonly string[]): void {
  const top = parts[0] as string;
  if (!touched.includes(top)) touched.push(top);
}

/** Runs a change that may reach `_id`, and refuses it if `_id` became another. */
function guardId(document: Document, change: () => readonly string[]): readonly string[] {
  const before = document['_id'];
  const touched = change();
  if (before !== undefined && !sameValue(before, document['_id'])) {
    throw serverError(
      'immutableField',
      "Performing an update on the path '_id' would modify the immutable field '_id'",
    );
  }
  return touched;
}

/** The fields that an upsert's document takes from the filter: those it asks to be equal to something. */
export function upsertBase(filter: Document): Document {
  const base: Document = {};
  const take = (part: Document): void => {
    for (const [path, condition] of Object.entries(part)) {
      if (path === '$and') for (const inner of condition as Document[]) take(inner);
      if (path.startsWith('$')) continue;
      let value: unknown = condition;
      if (isOperators(condition)) {
        if (!('$eq' in condition)) continue;
        value = condition['$eq'];
      }
      if (value instanceof RegExp) continue;
      const operator = fieldOperators['$set'] as FieldOperator;
      const change = { name: '$set', path, parts: splitPath(path), operand: value, operator };
      applyAt(base, change, change.parts, { inserting: true, now: 0 });
    }
  };
  take(filter);
  compileFilter(filter);
  return base;
}
