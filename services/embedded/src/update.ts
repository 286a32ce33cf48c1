import type { Document } from 'mongodb';
import { compileFilter, isOperators } from './filter.ts';
import { sameValue } from './order.ts';
import { isArrayIndex, splitPath } from './paths.ts';
import { serverError } from './store-errors.ts';
import { removed, type UpdateOperator, unchanged, updateOperators } from './update-operators.ts';
import { matchedPath, positionFinder } from './update-paths.ts';
import { assign, isDocument, ownField } from './values.ts';

/**
 * Changes `document` in place. Returns the names of its changed top-level fields; none if the update changed nothing.
 * Nested values are copied before a change, so that `document` may share them with another document. `inserting`:
 * true if an upsert creates the document. Throws the server's error; then `document` may be partly changed and must
 * be discarded.
 */
export type Update = (document: Document, inserting: boolean) => readonly string[];

interface Change {
  readonly name: string;
  readonly path: string;
  readonly parts: readonly string[];
  readonly operand: unknown;
  readonly operator: UpdateOperator;
}

/** Compiles a normalised update. `filter`: the filter of the query, which determines the positional `$`. */
export function compileUpdate(update: Document, filter: Document): Update {
  const changes = listChanges(update);
  refuseConflicts(changes);
  const needsId = changes.some((change) => change.parts[0] === '_id');
  return (document, inserting) => {
    const run = (): readonly string[] => {
      const changedFields: string[] = [];
      const unshared = new Set<unknown>();
      let findPosition: ((arrayPath: string) => number) | undefined;
      for (const change of changes) {
        let { parts } = change;
        if (change.path.includes('$')) {
          findPosition ??= positionFinder(document, filter);
          parts = matchedPath(parts, findPosition);
        }
        if (applyAt(document, change, parts, inserting, unshared)) addField(changedFields, parts);
      }
      return changedFields;
    };
    return needsId ? guardId(document, run) : run();
  };
}

function listChanges(update: Document): Change[] {
  const changes: Change[] = [];
  for (const name of Object.keys(update)) {
    const fields = update[name];
    const operator = updateOperators[name];
    if (!operator) {
      throw serverError(
        'failedToParse',
        `Unknown modifier: ${name}. The embedded store has no such update operator.`,
      );
    }
    if (!isDocument(fields)) {
      throw serverError('failedToParse', `Modifiers operate on fields but we found another type: ${name}`);
    }
    for (const path of Object.keys(fields)) {
      const parts = splitPath(path);
      refusePath(path, parts);
      changes.push({ name, path, parts, operand: fields[path], operator });
    }
  }
  // MongoDB adds new fields in the order of their names.
  return changes.length > 1 ? changes.sort((a, b) => comparePaths(a.parts, b.parts)) : changes;
}

function refusePath(path: string, parts: readonly string[]): void {
  if (parts.includes('')) {
    throw serverError('emptyFieldName', `The update path '${path}' contains an empty field name`);
  }
  if (path.startsWith('$')) {
    throw serverError('dollarPrefixedFieldName', `The dollar ($) prefixed field '${path}' is not valid`);
  }
  if (path.includes('$[')) {
    throw serverError('badValue', `The embedded store has no array filters, which '${path}' asks for.`);
  }
}

function comparePaths(a: readonly string[], b: readonly string[]): number {
  for (let i = 0; i < Math.min(a.length, b.length); i++) {
    const x = a[i] as string;
    const y = b[i] as string;
    if (x === y) continue;
    return isArrayIndex(x) && isArrayIndex(y) ? Number(x) - Number(y) : x < y ? -1 : 1;
  }
  return a.length - b.length;
}

function refuseConflicts(changes: readonly Change[]): void {
  const paths = changes.map((change) => change.path);
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

/**
 * Applies one change. Returns true if it changed something. `unshared`: nested values that are already copied; this
 * function adds the values that it copies or creates.
 */
function applyAt(
  document: Document,
  change: Change,
  parts: readonly string[],
  inserting: boolean,
  unshared: Set<unknown>,
): boolean {
  // $unset and $pull do not create missing documents on the path to their field. If a value on the path is not a
  // document, $unset does nothing, and neither does $setOnInsert in an update. For any other operator this is an error.
  const hasNoEffect = change.name === '$setOnInsert' && !inserting;
  const ignoresMissingParent = hasNoEffect || change.name === '$unset';
  const createsParents = !ignoresMissingParent && change.name !== '$pull';
  const last = parts.length - 1;
  let target: unknown = document;
  for (let i = 0; i < last; i++) {
    const part = parts[i] as string;
    let next = read(target, part);
    if (next === undefined) {
      if (!ignoresMissingParent && !canHold(target, part)) throw notViable(part, change.path);
      if (!createsParents) return false;
      next = {};
      unshared.add(next);
      write(target, part, next);
    } else if (!unshared.has(next)) {
      const copy = copyOf(next);
      if (copy !== next) write(target, part, copy);
      unshared.add(copy);
      next = copy;
    }
    target = next;
  }
  const part = parts[last] as string;
  if (!canHold(target, part)) {
    if (ignoresMissingParent) return false;
    throw notViable(part, change.path);
  }
  const next = change.operator(read(target, part), change.operand, change.path, inserting);
  if (next === unchanged) return false;
  if (next !== removed) write(target, part, next);
  else if (Array.isArray(target)) target[Number(part)] = null;
  else delete (target as Document)[part];
  return true;
}

/** A shallow copy of an array or a document; any other value itself. */
function copyOf(value: unknown): unknown {
  if (Array.isArray(value)) return [...value];
  return isDocument(value) ? { ...value } : value;
}

function canHold(target: unknown, part: string): boolean {
  return Array.isArray(target) ? isArrayIndex(part) : isDocument(target);
}

function read(target: unknown, part: string): unknown {
  if (Array.isArray(target)) return isArrayIndex(part) ? target[Number(part)] : undefined;
  return isDocument(target) ? ownField(target, part) : undefined;
}

function write(target: unknown, part: string, value: unknown): void {
  if (!Array.isArray(target)) {
    assign(target as Document, part, value);
    return;
  }
  const index = Number(part);
  if (index - target.length > 1_500_000) throw serverError('badValue', 'The array would grow too far');
  while (target.length < index) target.push(null);
  target[index] = value;
}

function notViable(part: string, path: string): Error {
  return serverError('pathNotViable', `Cannot create field '${part}' on the path '${path}'`);
}

function addField(changedFields: string[], parts: readonly string[]): void {
  const top = parts[0] as string;
  if (!changedFields.includes(top)) changedFields.push(top);
}

/** Runs an update that has operators on `_id`. Throws the server's error if the update changes an existing `_id`. */
function guardId(document: Document, change: () => readonly string[]): readonly string[] {
  const before = document['_id'];
  const changedFields = change();
  if (before !== undefined && !sameValue(before, document['_id'])) {
    throw serverError(
      'immutableField',
      "Performing an update on the path '_id' would modify the immutable field '_id'",
    );
  }
  return changedFields;
}

/** The fields that the document of an upsert takes from the filter: those that the filter compares for equality. */
export function upsertBase(filter: Document): Document {
  const base: Document = {};
  const take = (part: Document): void => {
    for (const [path, condition] of Object.entries(part)) {
      if (path === '$and') for (const inner of condition as Document[]) take(inner);
      if (path.startsWith('$')) continue;
      if (isOperators(condition)) continue;
      const operator = updateOperators['$set'] as UpdateOperator;
      const change = { name: '$set', path, parts: splitPath(path), operand: condition, operator };
      applyAt(base, change, change.parts, true, new Set());
    }
  };
  take(filter);
  compileFilter(filter);
  return base;
}
