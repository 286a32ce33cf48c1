import type { Document } from 'mongodb';
import { compareValues, sameValue, typeByte, typeOrder } from './order.ts';
import { anyArrayAt, anyValueAt, splitPath } from './paths.ts';
import { serverError } from './store-errors.ts';
import { isDocument } from './values.ts';

/** True if a document matches. */
export type Predicate = (document: Document) => boolean;

/** The operators on a field, except `$not`. Each takes less than a microsecond per document. */
const fieldOperators: Readonly<Record<string, (path: string, operand: unknown) => Predicate>> = {
  $ne: (path, operand) => not(anyAt(path, equals(operand))),
  $in: (path, operand) => anyAt(path, isIn(operand, '$in')),
  $nin: (path, operand) => not(anyAt(path, isIn(operand, '$nin'))),
  $lt: (path, operand) =>
    anyAt(
      path,
      compares(operand, (order) => order < 0),
    ),
  $lte: (path, operand) =>
    anyAt(
      path,
      compares(operand, (order) => order <= 0),
    ),
  $gt: (path, operand) =>
    anyAt(
      path,
      compares(operand, (order) => order > 0),
    ),
  $gte: (path, operand) =>
    anyAt(
      path,
      compares(operand, (order) => order >= 0),
    ),
  $exists: (path, operand) => {
    const exists = anyAt(path, (value) => value !== undefined);
    return operand ? exists : not(exists);
  },
  $size: (path, operand) => {
    if (!Number.isInteger(operand) || (operand as number) < 0) {
      throw serverError('badValue', 'Failed to parse $size. Expected a non-negative integer');
    }
    const parts = splitPath(path);
    return (document) => anyArrayAt(document, parts, (items) => items.length === operand);
  },
};

/**
 * Compiles a normalised filter. Throws the server's error for an operand that MongoDB rejects, and for
 * an operator that the embedded store does not support.
 */
export function compileFilter(filter: Document): Predicate {
  const predicates: Predicate[] = [];
  for (const key of Object.keys(filter)) {
    const condition = filter[key];
    if (key === '$and' || key === '$or') predicates.push(logical(key, condition));
    else if (key.startsWith('$')) throw unknownOperator(key);
    else predicates.push(...field(key, condition));
  }
  if (predicates.length === 1) return predicates[0] as Predicate;
  return (document) => {
    for (const predicate of predicates) if (!predicate(document)) return false;
    return true;
  };
}

/** True if a condition consists of operators (`{$gt: 1}`); false if it is a value to equal. */
export function isOperators(condition: unknown): condition is Document {
  if (!isDocument(condition)) return false;
  const [first] = Object.keys(condition);
  return first?.startsWith('$') ?? false;
}

function field(path: string, condition: unknown): Predicate[] {
  if (!isOperators(condition)) return [anyAt(path, equals(condition))];
  return Object.keys(condition).map((name) => {
    const operand = condition[name];
    if (name === '$not') return negation(path, operand);
    const operator = fieldOperators[name];
    if (!operator) throw unknownOperator(name);
    return operator(path, operand);
  });
}

function negation(path: string, condition: unknown): Predicate {
  if (!isOperators(condition)) throw serverError('badValue', '$not needs a document of operators');
  const conditions = field(path, condition);
  return (document) => !conditions.every((predicate) => predicate(document));
}

function logical(name: '$and' | '$or', condition: unknown): Predicate {
  if (!Array.isArray(condition) || condition.length === 0) {
    throw serverError('badValue', `${name} must be a nonempty array`);
  }
  const parts = condition.map((part) => {
    if (!isDocument(part)) throw serverError('badValue', '$or/$and entries need to be full objects');
    return compileFilter(part);
  });
  if (name === '$and') return (document) => parts.every((part) => part(document));
  return (document) => parts.some((part) => part(document));
}

function anyAt(path: string, test: (value: unknown) => boolean): Predicate {
  const parts = splitPath(path);
  return (document) => anyValueAt(document, parts, test);
}

function not(predicate: Predicate): Predicate {
  return (document) => !predicate(document);
}

function equals(operand: unknown): (value: unknown) => boolean {
  rejectPattern(operand);
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
  const tests = operand.map(equals);
  return (value) => tests.some((test) => test(value));
}

/** Compares only values of the same type. NaN is equal to itself, and neither less nor greater than a number. */
function compares(operand: unknown, holds: (order: number) => boolean): (value: unknown) => boolean {
  rejectPattern(operand);
  const type = typeOrder(operand);
  if (type === typeByte.null) return (value) => (value === undefined || value === null) && holds(0);
  const isNaNOperand = typeof operand === 'number' && Number.isNaN(operand);
  return (value) => {
    if (value === undefined || typeOrder(value) !== type) return false;
    const order = compareValues(value, operand);
    if (order !== 0 && (isNaNOperand || (typeof value === 'number' && Number.isNaN(value)))) return false;
    return holds(order);
  };
}

/**
 * Rejects a regular expression. MongoDB matches texts with it. Comparing it as a value would return other documents
 * than MongoDB.
 */
function rejectPattern(operand: unknown): void {
  if (operand instanceof RegExp) {
    throw serverError('badValue', 'The embedded store has no regular expressions in filters.');
  }
}

function unknownOperator(name: string): Error {
  return serverError('badValue', `unknown operator: ${name}. The embedded store has no such operator.`);
}
