import type { Document } from 'mongodb';
import { compileFilter, isOperators } from './filter.ts';
import { compareValues, sameValue, typeByte, typeOrder } from './order.ts';
import { isDocument } from './values.ts';

/** What a filter demands of one path, as far as an index can use it. */
export interface Condition {
  /** The field has one of these values. */
  readonly points: readonly unknown[] | undefined;
  readonly lower: { readonly value: unknown; readonly inclusive: boolean } | undefined;
  readonly upper: { readonly value: unknown; readonly inclusive: boolean } | undefined;
  /** The field is there, and is not null. */
  readonly present: boolean;
  /** The conditions as written. */
  readonly written: readonly unknown[];
}

/** Collects what must hold of each path for the filter to hold (`$and` included). */
export function readConditions(filter: Document): ReadonlyMap<string, Condition> {
  const conditions = new Map<string, Condition>();
  collect(filter, conditions);
  return conditions;
}

const empty: Condition = {
  points: undefined,
  lower: undefined,
  upper: undefined,
  present: false,
  written: [],
};

function collect(filter: Document, conditions: Map<string, Condition>): void {
  for (const path of Object.keys(filter)) {
    const condition = filter[path];
    if (path === '$and' && Array.isArray(condition)) {
      for (const part of condition) if (isDocument(part)) collect(part, conditions);
    }
    if (path.startsWith('$')) continue;
    conditions.set(path, merge(conditions.get(path) ?? empty, condition));
  }
}

function merge(known: Condition, condition: unknown): Condition {
  const written = [...known.written, condition];
  if (condition instanceof RegExp) return { ...known, written, present: true };
  if (!isOperators(condition)) return withPoints({ ...known, written }, [condition]);
  let next: Condition = { ...known, written };
  for (const name of Object.keys(condition)) {
    const value = condition[name];
    switch (name) {
      case '$eq':
        next = withPoints(next, [value]);
        break;
      case '$in':
        if (Array.isArray(value) && !value.some((v) => v instanceof RegExp)) next = withPoints(next, value);
        break;
      case '$gt':
      case '$gte':
        if (value === null) break;
        next = { ...next, present: true, lower: { value, inclusive: name === '$gte' } };
        break;
      case '$lt':
      case '$lte':
        if (value === null) break;
        next = { ...next, present: true, upper: { value, inclusive: name === '$lte' } };
        break;
      case '$exists':
        // Present, though it may be null: enough for a sparse index.
        if (value) next = { ...next, present: true };
        break;
    }
  }
  return next;
}

function withPoints(condition: Condition, points: readonly unknown[]): Condition {
  const present = condition.present || points.every((point) => point !== null);
  // Of two demands for equality the first serves; the filter checks the other.
  return { ...condition, present, points: condition.points ?? points };
}

/**
 * True when every document that fits the filter (whose conditions these are) also fits a partial
 * index's expression, so that the index misses none.
 */
export function implies(conditions: ReadonlyMap<string, Condition>, partial: Document): boolean {
  return Object.entries(partial).every(([path, wanted]) => {
    if (path === '$and') return (wanted as Document[]).every((part) => implies(conditions, part));
    if (path.startsWith('$')) return false;
    const condition = conditions.get(path);
    if (!condition) return false;
    if (!isOperators(wanted)) return impliesOne(condition, path, '$eq', wanted);
    return Object.entries(wanted).every(([name, value]) => impliesOne(condition, path, name, value));
  });
}

function impliesOne(condition: Condition, path: string, name: string, value: unknown): boolean {
  const same = condition.written.some(
    (written) =>
      (isOperators(written) && name in written && sameValue(written[name], value)) ||
      (name === '$eq' && !isOperators(written) && sameValue(written, value)),
  );
  if (same) return true;
  if (condition.points) {
    const fits = compileFilter({ [path.replaceAll('.', '_')]: { [name]: value } });
    // An equality on an array's item says nothing about the others, but the array then has that item.
    return name !== '$ne' && name !== '$nin' && name !== '$not'
      ? condition.points.every((point) => fits({ [path.replaceAll('.', '_')]: point ?? undefined }))
      : false;
  }
  switch (name) {
    case '$exists':
      return value === true && condition.present;
    case '$gt':
    case '$gte':
      return isWithin(condition.lower, value, name === '$gte', 1);
    case '$lt':
    case '$lte':
      return isWithin(condition.upper, value, name === '$lte', -1);
    case '$type': {
      const bound = condition.lower ?? condition.upper;
      if (!bound || typeOrder(bound.value) === typeByte.number)
        return bound !== undefined && value === 'number';
      return compileFilter({ value: { $type: value } })({ value: bound.value });
    }
    default:
      return false;
  }
}

function isWithin(bound: Condition['lower'], limit: unknown, inclusive: boolean, way: 1 | -1): boolean {
  if (!bound || typeOrder(bound.value) !== typeOrder(limit)) return false;
  const order = way * compareValues(bound.value, limit);
  return order > 0 || (order === 0 && (inclusive || !bound.inclusive));
}
