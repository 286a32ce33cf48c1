import { type Document, Long, Timestamp } from 'mongodb';
import { compileFilter, isOperators } from './filter.ts';
import { compareValues, sameValue, typeByte, typeOrder } from './order.ts';
import { plainValueAt, splitPath } from './paths.ts';
import { serverError } from './store-errors.ts';
import { cloneValue, isDocument, normalise } from './values.ts';

/** Answered by an operator that leaves its field as it is. */
export const unchanged: unique symbol = Symbol('unchanged');
/** Answered by an operator that removes its field. */
export const removed: unique symbol = Symbol('removed');

/** What an operator may know beside the field. */
export interface UpdateContext {
  /** True while an upsert's document is made: `$setOnInsert` applies. */
  readonly inserting: boolean;
  /** Milliseconds since 1970, for `$currentDate`. */
  readonly now: number;
}

/** The field's new value, or `unchanged` or `removed`; `current` is undefined when the field is missing. */
export type FieldOperator = (
  current: unknown,
  operand: unknown,
  path: string,
  context: UpdateContext,
) => unknown;

/**
 * The update operators that change one field. mingo's take 150 µs for an update where these take 2
 * (14,000 conditional updates a second leave 70), and compare Binary values as UTF-8 text.
 */
export const fieldOperators: Readonly<Record<string, FieldOperator>> = {
  $set: (current, operand) =>
    current !== undefined && identical(current, operand) ? unchanged : cloneValue(operand),
  $setOnInsert: (_current, operand, _path, context) => (context.inserting ? cloneValue(operand) : unchanged),
  $unset: (current) => (current === undefined ? unchanged : removed),
  $inc: (current, operand, path) =>
    arithmetic('$inc', current, operand, path, 0, (a, b) => (a as number) + (b as number), 'add'),
  $mul: (current, operand, path) =>
    arithmetic('$mul', current, operand, path, undefined, (a, b) => (a as number) * (b as number), 'mul'),
  $max: (current, operand) =>
    current === undefined || compareValues(operand, current) > 0 ? cloneValue(operand) : unchanged,
  $min: (current, operand) =>
    current === undefined || compareValues(operand, current) < 0 ? cloneValue(operand) : unchanged,
  $currentDate: (_current, operand, _path, context) => {
    const type = operand === true || operand === false ? 'date' : (operand as Document | null)?.['$type'];
    if (type === 'date') return new Date(context.now);
    if (type === 'timestamp') return new Timestamp({ t: Math.floor(context.now / 1000), i: 1 });
    throw serverError('badValue', "The '$type' string field is required to be 'date' or 'timestamp'");
  },
  $push: (current, operand, path) => push(current, operand, path),
  $addToSet: (current, operand, path) => {
    const items = arrayOf('$addToSet', current, path);
    const added = isDocument(operand) && '$each' in operand ? each(operand, '$addToSet') : [operand];
    const next = [...items];
    for (const item of added) {
      if (!next.some((known) => sameValue(known, item))) next.push(cloneValue(item));
    }
    return current !== undefined && next.length === items.length ? unchanged : next;
  },
  $pop: (current, operand, path) => {
    if (operand !== 1 && operand !== -1) {
      throw serverError('failedToParse', `$pop expects 1 or -1, found: ${String(operand)}`);
    }
    if (current === undefined) return unchanged;
    if (!Array.isArray(current)) {
      throw serverError('typeMismatch', `Path '${path}' contains an element of non-array type`);
    }
    if (current.length === 0) return unchanged;
    return operand === 1 ? current.slice(0, -1) : current.slice(1);
  },
  $pull: (current, operand) => keep(current, '$pull', not(pullTest(operand))),
  $pullAll: (current, operand) => {
    if (!Array.isArray(operand)) throw serverError('badValue', '$pullAll requires an array argument');
    return keep(current, '$pullAll', (item) => !operand.some((other) => sameValue(item, other)));
  },
  $bit: (current, operand, path) => {
    if (!isDocument(operand)) throw serverError('badValue', 'The $bit modifier is not compatible with that');
    let value = current ?? 0;
    for (const [name, mask] of Object.entries(operand)) {
      if (!Number.isInteger(value) || !Number.isInteger(mask)) {
        throw serverError('badValue', `Cannot apply $bit to a value of non-integral type at '${path}'`);
      }
      if (name === 'and') value = (value as number) & (mask as number);
      else if (name === 'or') value = (value as number) | (mask as number);
      else if (name === 'xor') value = (value as number) ^ (mask as number);
      else throw serverError('badValue', `The $bit modifier only supports 'and', 'or', and 'xor'`);
    }
    return value === current ? unchanged : value;
  },
};

/** As `sameValue`, but a change of the stored type counts as a change. */
function identical(a: unknown, b: unknown): boolean {
  return sameValue(a, b) && !(Object.is(a, 0) && Object.is(b, -0)) && !(Object.is(a, -0) && Object.is(b, 0));
}

function arithmetic(
  name: string,
  current: unknown,
  operand: unknown,
  path: string,
  start: 0 | undefined,
  numbers: (a: unknown, b: unknown) => number,
  method: 'add' | 'mul',
): unknown {
  if (typeOrder(operand) !== typeByte.number) {
    throw serverError(
      'typeMismatch',
      `Cannot ${name} with non-numeric argument: {${path}: ${text(operand)}}`,
    );
  }
  if (current === undefined) return start === 0 ? operand : 0;
  if (typeOrder(current) !== typeByte.number) {
    throw serverError(
      'typeMismatch',
      `Cannot apply ${name} to a value of non-numeric type. {${path}: ${text(current)}}`,
    );
  }
  let next: unknown;
  if (current instanceof Long || operand instanceof Long) {
    const both = [current, operand].every((n) => n instanceof Long || Number.isInteger(n));
    next = both
      ? normalise(toLong(current)[method](toLong(operand)))
      : numbers(Number(current), Number(operand));
  } else {
    next = numbers(current, operand);
  }
  return sameValue(next, current) ? unchanged : next;
}

function toLong(value: unknown): Long {
  return value instanceof Long ? value : Long.fromNumber(value as number);
}

function arrayOf(name: string, current: unknown, path: string): readonly unknown[] {
  if (current === undefined) return [];
  if (!Array.isArray(current)) {
    throw serverError('badValue', `${name}: the field '${path}' must be an array but is ${text(current)}`);
  }
  return current;
}

function each(operand: Document, name: string): unknown[] {
  if (!Array.isArray(operand['$each'])) {
    throw serverError(
      name === '$push' ? 'badValue' : 'typeMismatch',
      `The argument to $each in ${name} must be an array but it was ${text(operand['$each'])}`,
    );
  }
  return operand['$each'];
}

function push(current: unknown, operand: unknown, path: string): unknown {
  const items = arrayOf('$push', current, path);
  if (!isDocument(operand) || !('$each' in operand)) return [...items, cloneValue(operand)];
  const unknown = Object.keys(operand).find((k) => !['$each', '$slice', '$sort', '$position'].includes(k));
  if (unknown) throw serverError('badValue', `Unrecognized clause in $push: ${unknown}`);
  const added = each(operand, '$push').map(cloneValue);
  const { $slice, $sort, $position } = operand;
  const next = [...items];
  next.splice($position === undefined ? next.length : place($position), 0, ...added);
  if ($sort !== undefined) sortItems(next, $sort);
  const sliced = $slice === undefined ? next : slice(next, $slice);
  const same = current !== undefined && sliced.length === items.length && sameValue(sliced, items);
  return same ? unchanged : sliced;
}

function place(position: unknown): number {
  if (!Number.isInteger(position))
    throw serverError('badValue', 'The value for $position must be an integer');
  return position as number;
}

function slice(items: unknown[], count: unknown): unknown[] {
  if (!Number.isInteger(count)) throw serverError('badValue', 'The value for $slice must be an integer');
  const n = count as number;
  if (n === 0) return [];
  return n < 0 ? items.slice(n) : items.slice(0, n);
}

function sortItems(items: unknown[], order: unknown): void {
  if (order === 1 || order === -1) {
    items.sort((a, b) => order * compareValues(a, b));
    return;
  }
  if (!isDocument(order)) throw serverError('badValue', 'The $sort is invalid');
  const parts = Object.entries(order).map(([path, way]) => ({ path: splitPath(path), way: Number(way) }));
  const value = (item: unknown, path: readonly string[]) =>
    isDocument(item) ? plainValueAt(item, path) : undefined;
  items.sort((a, b) => {
    for (const { path, way } of parts) {
      const compared = compareValues(value(a, path), value(b, path));
      if (compared !== 0) return way * compared;
    }
    return 0;
  });
}

function keep(current: unknown, name: string, test: (item: unknown) => boolean): unknown {
  if (current === undefined) return unchanged;
  if (!Array.isArray(current)) {
    throw serverError('badValue', `Cannot apply ${name} to a non-array value`);
  }
  const kept = current.filter(test);
  return kept.length === current.length ? unchanged : kept;
}

function pullTest(operand: unknown): (item: unknown) => boolean {
  if (operand instanceof RegExp || isOperators(operand)) {
    const fits = compileFilter({ item: operand });
    return (item) => fits({ item });
  }
  if (isDocument(operand)) {
    const fits = compileFilter(operand);
    return (item) => isDocument(item) && fits(item);
  }
  return (item) => sameValue(item, operand);
}

function not(test: (item: unknown) => boolean): (item: unknown) => boolean {
  return (item) => !test(item);
}

function text(value: unknown): string {
  return JSON.stringify(value) ?? 'missing';
}
