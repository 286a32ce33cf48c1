import { Context } from 'mingo/core';
import * as mingoExpressions from 'mingo/operators/expression';
import * as mingoQueryOperators from 'mingo/operators/query';
import { Query } from 'mingo/query';
import type { Document } from 'mongodb';
import { compareValues, sameValue, typeByte, typeOrder } from './order.ts';
import { anyValueAt, splitPath } from './paths.ts';
import { serverError } from './store-errors.ts';
import { isDocument } from './values.ts';

/** Tells whether a document fits. */
export type Predicate = (document: Document) => boolean;
type Operator = (selector: string, operand: unknown) => Predicate;

/**
 * The comparisons by MongoDB's own order of types and paths. mingo compares by JavaScript's types
 * (a Long as text, Binary as UTF-8, documents without field order) and takes 20 µs where these take
 * less than one; they are registered as mingo's operators, so that they hold inside its others too.
 */
const ownOperators: Readonly<Record<string, Operator>> = {
  $eq: (selector, operand) => at(selector, equals(operand)),
  $ne: (selector, operand) => not(at(selector, equals(operand))),
  $in: (selector, operand) => at(selector, isIn(operand, '$in')),
  $nin: (selector, operand) => not(at(selector, isIn(operand, '$nin'))),
  $lt: (selector, operand) =>
    at(
      selector,
      compares(operand, (order) => order < 0),
    ),
  $lte: (selector, operand) =>
    at(
      selector,
      compares(operand, (order) => order <= 0),
    ),
  $gt: (selector, operand) =>
    at(
      selector,
      compares(operand, (order) => order > 0),
    ),
  $gte: (selector, operand) =>
    at(
      selector,
      compares(operand, (order) => order >= 0),
    ),
  $exists: (selector, operand) => {
    const exists = at(selector, (value) => value !== undefined);
    return operand ? exists : not(exists);
  },
  $type: (selector, operand) => at(selector, hasType(operand)),
  $mod: (selector, operand) => at(selector, hasRemainder(operand)),
};

const mingoOptions = {
  context: Context.init()
    // biome-ignore lint/suspicious/noExplicitAny: mingo's operator type asks for its own options class
    .addQueryOps(ownOperators as any)
    // biome-ignore lint/suspicious/noExplicitAny: a module namespace is an operator table
    .addQueryOps(mingoQueryOperators as any)
    // biome-ignore lint/suspicious/noExplicitAny: the same
    .addExpressionOps(mingoExpressions as any),
  scriptEnabled: false,
};

/** Compiles a normalised filter. Throws the server's error for an unknown operator or operand. */
export function compileFilter(filter: Document): Predicate {
  const predicates: Predicate[] = [];
  for (const key of Object.keys(filter)) {
    const condition = filter[key];
    if (key === '$comment') continue;
    if (key === '$and' || key === '$or' || key === '$nor') predicates.push(logical(key, condition));
    else if (key.startsWith('$')) predicates.push(byMingo({ [key]: condition }));
    else predicates.push(...field(key, condition));
  }
  if (predicates.length === 1) return predicates[0] as Predicate;
  return (document) => {
    for (const predicate of predicates) if (!predicate(document)) return false;
    return true;
  };
}

/** True when a condition is operators (`{$gt: 1}`), not a value to be equal to. */
export function isOperators(condition: unknown): condition is Document {
  if (!isDocument(condition)) return false;
  const [first] = Object.keys(condition);
  return first?.startsWith('$') ?? false;
}

function field(selector: string, condition: unknown): Predicate[] {
  if (condition instanceof RegExp) return [byMingo({ [selector]: condition })];
  if (!isOperators(condition)) return [at(selector, equals(condition))];
  const predicates: Predicate[] = [];
  for (const name of Object.keys(condition)) {
    if (!name.startsWith('$')) throw serverError('badValue', `unknown operator: ${name}`);
    if (name === '$options') continue;
    const own = ownOperators[name];
    if (own) predicates.push(own(selector, condition[name]));
    else if (name === '$not') predicates.push(negation(selector, condition[name]));
    else {
      const { $options } = condition;
      const more = name === '$regex' && $options !== undefined ? { $options } : {};
      predicates.push(byMingo({ [selector]: { [name]: condition[name], ...more } }));
    }
  }
  return predicates;
}

function negation(selector: string, condition: unknown): Predicate {
  if (!(condition instanceof RegExp) && !isOperators(condition)) {
    throw serverError('badValue', '$not needs a regex or a document');
  }
  const inner = field(selector, condition);
  return (document) => !inner.every((predicate) => predicate(document));
}

function logical(name: '$and' | '$or' | '$nor', condition: unknown): Predicate {
  if (!Array.isArray(condition) || condition.length === 0) {
    throw serverError('badValue', `${name} must be a nonempty array`);
  }
  const parts = condition.map((part) => {
    if (!isDocument(part)) throw serverError('badValue', '$or/$and/$nor entries need to be full objects');
    return compileFilter(part);
  });
  if (name === '$and') return (document) => parts.every((part) => part(document));
  if (name === '$or') return (document) => parts.some((part) => part(document));
  return (document) => !parts.some((part) => part(document));
}

function byMingo(filter: Document): Predicate {
  let query: Query;
  try {
    query = new Query(filter, mingoOptions);
  } catch (error) {
    throw serverError('badValue', error instanceof Error ? error.message : String(error), { cause: error });
  }
  return (document) => query.test(document);
}

function at(selector: string, test: (value: unknown) => boolean): Predicate {
  const path = splitPath(selector);
  return (document) => anyValueAt(document, path, test);
}

function not(predicate: Predicate): Predicate {
  return (document) => !predicate(document);
}

function equals(operand: unknown): (value: unknown) => boolean {
  if (operand === null || operand === undefined) return (value) => value === null || value === undefined;
  if (typeof operand === 'string' || typeof operand === 'boolean') return (value) => value === operand;
  return (value) => value !== undefined && sameValue(value, operand);
}

function isIn(operand: unknown, name: string): (value: unknown) => boolean {
  if (!Array.isArray(operand)) throw serverError('badValue', `${name} needs an array`);
  const simple = operand.every((item) => typeof item === 'string');
  if (simple && operand.length > 8) {
    const set = new Set<unknown>(operand);
    return (value) => set.has(value);
  }
  const tests = operand.map((item) => {
    if (!(item instanceof RegExp)) return equals(item);
    return (value: unknown) => typeof value === 'string' && new RegExp(item.source, item.flags).test(value);
  });
  return (value) => tests.some((test) => test(value));
}

/** Comparisons hold within one type only; NaN is equal to itself and not ordered. */
function compares(operand: unknown, holds: (order: number) => boolean): (value: unknown) => boolean {
  if (operand instanceof RegExp) throw serverError('badValue', "Can't have RegEx as arg to predicate");
  const type = typeOrder(operand);
  if (type === typeByte.null) return (value) => (value === undefined || value === null) && holds(0);
  const nan = typeof operand === 'number' && Number.isNaN(operand);
  return (value) => {
    if (value === undefined || typeOrder(value) !== type) return false;
    const order = compareValues(value, operand);
    if (order !== 0 && (nan || (typeof value === 'number' && Number.isNaN(value)))) return false;
    return holds(order);
  };
}

function hasRemainder(operand: unknown): (value: unknown) => boolean {
  const [divisor, remainder] = Array.isArray(operand) ? operand.map(Number) : [];
  if (!divisor || remainder === undefined || Number.isNaN(divisor + remainder)) {
    throw serverError('badValue', 'malformed mod: it needs a divisor other than 0 and a remainder');
  }
  const [by, rest] = [Math.trunc(divisor), Math.trunc(remainder)];
  return (value) => typeOrder(value) === typeByte.number && Math.trunc(Number(value)) % by === rest;
}

const typeNumbers: Readonly<Record<number, string>> = {
  1: 'double',
  2: 'string',
  3: 'object',
  4: 'array',
  5: 'binData',
  7: 'objectId',
  8: 'bool',
  9: 'date',
  10: 'null',
  11: 'regex',
  16: 'int',
  17: 'timestamp',
  18: 'long',
};
const typesByOrder: Readonly<Record<number, string>> = {
  [typeByte.string]: 'string',
  [typeByte.document]: 'object',
  [typeByte.array]: 'array',
  [typeByte.binary]: 'binData',
  [typeByte.objectId]: 'objectId',
  [typeByte.boolean]: 'bool',
  [typeByte.date]: 'date',
  [typeByte.null]: 'null',
  [typeByte.regex]: 'regex',
  [typeByte.timestamp]: 'timestamp',
};

function hasType(operand: unknown): (value: unknown) => boolean {
  const wanted = new Set(
    (Array.isArray(operand) ? operand : [operand]).map((type) => {
      const name = typeof type === 'number' ? typeNumbers[type] : type;
      const known = name === 'number' || Object.values(typeNumbers).includes(name);
      if (!known) throw serverError('badValue', `Unknown type name alias: ${String(type)}`);
      return name as string;
    }),
  );
  return (value) => {
    if (value === undefined) return false;
    const order = typeOrder(value);
    if (order !== typeByte.number) return wanted.has(typesByOrder[order] ?? '');
    if (wanted.has('number')) return true;
    // As the driver writes a number: 32-bit integers as int, everything else as double.
    if (typeof value !== 'number') return wanted.has('long');
    return wanted.has((value | 0) === value && !Object.is(value, -0) ? 'int' : 'double');
  };
}
