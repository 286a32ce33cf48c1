import { Binary, BSON, type BSONRegExp, type Document, Long, ObjectId } from 'mongodb';

/** Options of BSON serialization, the same as the driver's defaults. */
const serializeOptions = { ignoreUndefined: false } as const;

// Constants, because these functions are called for each value, and global lookups are slow in a VM context (Jest).
const { getPrototypeOf, hasOwn, prototype: plainPrototype } = Object;
const { isArray } = Array;
const plainPrototypes: readonly unknown[] = [plainPrototype, null];

/** True for a document: an object that has no other BSON type. */
export function isDocument(value: unknown): value is Document {
  if (typeof value !== 'object' || value === null) return false;
  if (getPrototypeOf(value) === plainPrototype) {
    return (value as { _bsontype?: unknown })._bsontype === undefined;
  }
  return (
    !isArray(value) &&
    !(value instanceof Date) &&
    !(value instanceof RegExp) &&
    (value as { _bsontype?: unknown })._bsontype === undefined
  );
}

/** Encodes a document as BSON, as the driver does. */
export function encodeDocument(document: Document): Uint8Array {
  return BSON.serialize(document, serializeOptions);
}

/** Decodes a document as the driver does by default. */
export function decodeDocument(bytes: Uint8Array): Document {
  return BSON.deserialize(bytes);
}

/**
 * A deep copy of a normalised value. Immutable values (ObjectId, Long, Timestamp and similar) are shared.
 */
export function cloneValue<T>(value: T): T {
  if (typeof value !== 'object' || value === null) return value;
  if (isArray(value)) {
    const copy = new Array<unknown>(value.length);
    for (let i = 0; i < value.length; i++) copy[i] = cloneValue(value[i]);
    return copy as T;
  }
  if (value instanceof Date) return new Date(value.getTime()) as T;
  if ((value as { _bsontype?: unknown })._bsontype === 'Binary')
    return cloneBinary(value as unknown as Binary) as T;
  if (isDocument(value)) {
    const copy: Document = { ...value };
    for (const key in copy) {
      const item = copy[key];
      if (typeof item === 'object' && item !== null) assign(copy, key, cloneValue(item));
    }
    return copy as T;
  }
  return value;
}

/**
 * Returns the value that a server would return after storing this value; always a copy. undefined becomes null.
 * Int32, Double, and Longs within the safe integers become numbers. A Buffer becomes Binary. Functions become null;
 * fields of a document that are functions are omitted. Throws TypeError for a Decimal128.
 */
export function normalise(value: unknown): unknown {
  switch (typeof value) {
    case 'string':
    case 'number':
    case 'boolean':
      return value;
    case 'undefined':
    case 'function':
    case 'symbol':
      return null;
    case 'bigint':
      return promoteLong(Long.fromBigInt(value));
  }
  if (value === null) return null;
  if (isArray(value)) return value.map(normalise);
  if (value instanceof Date) return new Date(value.getTime());
  if (value instanceof RegExp) return new RegExp(value.source, value.flags);
  if (plainPrototypes.includes(getPrototypeOf(value))) return normaliseDocument(value as Document);
  return normaliseObject(value as Document & { _bsontype?: string; toBSON?: () => unknown });
}

function normaliseObject(value: Document & { _bsontype?: string; toBSON?: () => unknown }): unknown {
  switch (value._bsontype) {
    case 'Int32':
    case 'Double':
      return Number(value.valueOf());
    case 'Long':
      return promoteLong(value as unknown as Long);
    case 'Binary':
      return cloneBinary(value as unknown as Binary);
    case 'BSONRegExp': {
      const { pattern, options } = value as unknown as BSONRegExp;
      return new RegExp(pattern, options);
    }
    case 'BSONSymbol':
      return String(value.valueOf());
    case 'Decimal128':
      throw new TypeError('The embedded store keeps no Decimal128: store a number, a Long or a string.');
    case 'ObjectId':
      return value instanceof ObjectId ? value : encodedAndDecoded(value);
    case undefined: {
      const special = ArrayBuffer.isView(value) || value instanceof Map || typeof value.toBSON === 'function';
      return special ? encodedAndDecoded(value) : normaliseDocument(value);
    }
    default:
      return encodedAndDecoded(value);
  }
}

function encodedAndDecoded(value: unknown): unknown {
  return decodeDocument(encodeDocument({ value }))['value'];
}

/** `normalise` for a whole document. */
export function normaliseDocument(value: Document): Document {
  const copy: Document = { ...value };
  for (const key in copy) {
    const item = copy[key];
    switch (typeof item) {
      case 'string':
      case 'number':
      case 'boolean':
        break;
      case 'function':
      case 'symbol':
        delete copy[key];
        break;
      default:
        assign(copy, key, normalise(item));
    }
  }
  return copy;
}

/** Sets an own field, `__proto__` included. */
export function assign(target: Document, key: string, value: unknown): void {
  if (key === '__proto__') {
    Object.defineProperty(target, key, { value, enumerable: true, configurable: true, writable: true });
  } else {
    target[key] = value;
  }
}

/** A document's own field, or undefined. */
export function ownField(target: Document, key: string): unknown {
  return hasOwn(target, key) ? target[key] : undefined;
}

function promoteLong(value: Long): unknown {
  const safe =
    value.lte(Long.fromNumber(Number.MAX_SAFE_INTEGER)) &&
    value.gte(Long.fromNumber(Number.MIN_SAFE_INTEGER));
  return safe && !value.unsigned ? value.toNumber() : value;
}

function cloneBinary(value: Binary): Binary {
  return new Binary(Uint8Array.from(value.buffer.subarray(0, value.position)), value.sub_type);
}
