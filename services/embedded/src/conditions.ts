import type { Document } from 'mongodb';
import { compileFilter, isOperators } from './filter.ts';
import { compareValues, sameValue, typeOrder } from './order.ts';
import { isDocument } from './values.ts';

/** The parts of a filter's conditions on one path that an index can use. */
export interface Condition {
  /** The field has one of these values. */
  readonly points: readonly unknown[] | undefined;
  readonly lower: { readonly value: unknown; readonly inclusive: boolean } | undefined;
  readonly upper: { readonly value: unknown; readonly inclusive: boolean } | undefined;
  /** The field exists (a sparse index has the document). */
  readonly present: boolean;
  /** The path's conditions, as written in the filter. */
  readonly written: readonly unknown[];
}

/** Collects, by path, the conditions that every document must meet: the filter's and those of its `$and`. */
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
  if (!isOperators(condition)) return withPoints({ ...known, written }, [condition]);
  let next: Condition = { ...known, written };
  for (const name of Object.keys(condition)) {
    const value = condition[name];
    switch (name) {
      case '$in':
        if (Array.isArray(value)) next = withPoints(next, value);
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
        if (value) next = { ...next, present: true };
        break;
    }
  }
  return next;
}

function withPoints(condition: Condition, points: readonly unknown[]): Condition {
  const present = condition.present || points.every((point) => point !== null);
  // Of two equalities the index uses the first; the filter checks the other.
  return { ...condition, present, points: condition.points ?? points };
}

/**
 * True if every document that matches the filter also matches a partial index's expression: then the index
 * contains all of them. `conditions` are the filter's.
 */
export function implies(conditions: ReadonlyMap<string, Condition>, partial: Document): boolean {
  return Object.entries(partial).every(([path, wanted]) => {
    if (path === '$and') return (wanted as Document[]).every((part) => implies(conditions, part));
    if (path.startsWith('$')) return false;
    const condition = conditions.get(path);
    if (!condition) return false;
    if (!isOperators(wanted)) return impliesValue(condition, wanted);
    return Object.entries(wanted).every(([name, value]) => impliesOperator(condition, name, value));
  });
}

function impliesValue({ points, written }: Condition, value: unknown): boolean {
  if (written.some((one) => !isOperators(one) && sameValue(one, value))) return true;
  return points !== undefined && everyFits(points, value);
}

function impliesOperator(condition: Condition, name: string, value: unknown): boolean {
  const { points, written } = condition;
  if (written.some((one) => isOperators(one) && name in one && sameValue(one[name], value))) return true;
  if (points) {
    // One item of an array may have the value and another not, but a negation applies to all items.
    return !negations.has(name) && everyFits(points, { [name]: value });
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
    default:
      return false;
  }
}

const negations: ReadonlySet<string> = new Set(['$ne', '$nin', '$not']);

function everyFits(points: readonly unknown[], condition: unknown): boolean {
  const fits = compileFilter({ value: condition });
  return points.every((point) => fits({ value: point ?? undefined }));
}

/** True when a bound is at least as narrow as the limit. `direction`: 1 of lower bounds, -1 of upper. */
function isWithin(bound: Condition['lower'], limit: unknown, inclusive: boolean, direction: 1 | -1): boolean {
  if (!bound || typeOrder(bound.value) !== typeOrder(limit)) return false;
  const order = direction * compareValues(bound.value, limit);
  return order > 0 || (order === 0 && (inclusive || !bound.inclusive));
}
