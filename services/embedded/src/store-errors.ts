import type { Document } from 'mongodb';
import { MongoServerError } from 'mongodb';

/** The error codes of MongoDB that the embedded store uses. */
export const serverCode = {
  badValue: 2,
  failedToParse: 9,
  typeMismatch: 14,
  pathNotViable: 28,
  conflictingUpdateOperators: 40,
  dollarPrefixedFieldName: 52,
  invalidIdField: 53,
  emptyFieldName: 56,
  immutableField: 66,
  cannotCreateIndex: 67,
  indexOptionsConflict: 85,
  indexKeySpecsConflict: 86,
  cannotIndexParallelArrays: 171,
  duplicateKey: 11000,
} as const;

const codeNames: Readonly<Record<number, string>> = {
  2: 'BadValue',
  9: 'FailedToParse',
  14: 'TypeMismatch',
  28: 'PathNotViable',
  40: 'ConflictingUpdateOperators',
  52: 'DollarPrefixedFieldName',
  53: 'InvalidIdField',
  56: 'EmptyFieldName',
  66: 'ImmutableField',
  67: 'CannotCreateIndex',
  85: 'IndexOptionsConflict',
  86: 'IndexKeySpecsConflict',
  171: 'CannotIndexParallelArrays',
  11000: 'DuplicateKey',
};

/** Creates an error of a MongoDB server, in the driver's class. */
export function serverError(
  code: keyof typeof serverCode,
  message: string,
  more: Document = {},
): MongoServerError {
  const number = serverCode[code];
  return new MongoServerError({
    message,
    errmsg: message,
    code: number,
    codeName: codeNames[number],
    ...more,
  });
}

/** Creates error 11000 of a unique index. */
export function duplicateKey(
  namespace: string,
  index: string,
  keyPattern: Document,
  keyValue: Document,
): MongoServerError {
  const fields = Object.entries(keyValue)
    .map(([field, value]) => `${field}: ${JSON.stringify(value)}`)
    .join(', ');
  const message = `E11000 duplicate key error collection: ${namespace} index: ${index} dup key: { ${fields} }`;
  return serverError('duplicateKey', message, { keyPattern, keyValue });
}
