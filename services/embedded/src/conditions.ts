import type { Document } from 'mongodb';
import { compileFilter, isOperators } from './filter.ts';
import { compareValues, sameValue, typeOrder } from './order.ts';
import { isDocument } from './values.ts';

/** The parts of a filter's conditions on one path that an index can use. */
export interface Condition {
  /** The filter requires that the field is equal to one of these values; undefined if it does not. */
  readonly equalTo: readonly unknown[] | undefined;
  readonly lower: { readonly value: unknown; readonly inclusive: boolean } | undefined;
  readonly upper: { readonly value: unknown; readonly inclusive: boolean } | undefined;
  /** True if the filter requires that the field exists: then a sparse index contains the document. */
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

const noCondition: Condition = {
  equalTo: undefined,
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
    conditions.set(path, merge(conditions.get(path) ?? noCondition, condition));
  }
}

function merge(known: Condition, condition: unknown): Condition {
  const written = [...known.written, condition];
  if (!isOperators(condition)) return withEqualTo({ ...known, written }, [condition]);
  let next: Condition = { ...known, written };
  for (const name of Object.keys(condition)) {
    const value = condition[name];
    switch (name) {
      case '$in':
        if (Array.isArray(value)) next = withEqualTo(next, value);
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

function withEqualTo(condition: Condition, equalTo: readonly unknown[]): Condition {
  const present = condition.present || equalTo.every((value) => value !== null);
  // The index uses only the first of several equalities. The filter, which is applied later, checks all of them.
  return { ...condition, present, equalTo: condition.equalTo ?? equalTo };
}

/**
 * True if every document that matches a filter also matches the expression of a partial index. Then the index contains
 * all matching documents. `conditions`: the conditions of the filter.
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

function impliesValue({ equalTo, written }: Condition, value: unknown): boolean {
  if (written.some((one) => !isOperators(one) && sameValue(one, value))) return true;
  return equalTo !== undefined && allMatch(equalTo, value);
}

function impliesOperator(condition: Condition, name: string, value: unknown): boolean {
  const { equalTo, written } = condition;
  if (written.some((one) => isOperators(one) && name in one && sameValue(one[name], value))) return true;
  if (equalTo) {
    // The field may be an array, of which only one item has the value. A negation must hold for all items, so the value
    // of one item does not prove it.
    return !negations.has(name) && allMatch(equalTo, { [name]: value });
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

function allMatch(equalTo: readonly unknown[], condition: unknown): boolean {
  const matches = compileFilter({ value: condition });
  return equalTo.every((value) => matches({ value: value ?? undefined }));
}

/** True if a bound is at least as narrow as a limit. `direction`: 1 for lower bounds, -1 for upper bounds. */
function isWithin(bound: Condition['lower'], limit: unknown, inclusive: boolean, direction: 1 | -1): boolean {
  if (!bound || typeOrder(bound.value) !== typeOrder(limit)) return false;
  const order = direction * compareValues(bound.value, limit);
  return order > 0 || (order === 0 && (inclusive || !bound.inclusive));
}
