import type { Binary, Document, Long, ObjectId, Timestamp } from 'mongodb';
import { isDocument } from './values.ts';

/**
 * First byte of the key of a value, in MongoDB's order of types. `emptyArray`: key in an index for a field that is an
 * empty array. MongoDB uses its deprecated type `undefined` for it.
 */
export const typeByte = {
  minKey: 0x08,
  emptyArray: 0x0c,
  null: 0x10,
  number: 0x18,
  string: 0x20,
  document: 0x28,
  array: 0x30,
  binary: 0x38,
  objectId: 0x40,
  boolean: 0x48,
  date: 0x50,
  timestamp: 0x58,
  regex: 0x60,
  other: 0x68,
  maxKey: 0xf0,
} as const;

/** Represents an empty array in index keys. */
export const emptyArrayKey: unique symbol = Symbol('empty array');

/** The rank of a value's type in MongoDB's order of types (`typeByte`). */
export function typeOrder(value: unknown): number {
  switch (typeof value) {
    case 'number':
      return typeByte.number;
    case 'string':
      return typeByte.string;
    case 'boolean':
      return typeByte.boolean;
    case 'undefined':
      return typeByte.null;
    case 'symbol':
      return typeByte.emptyArray;
  }
  if (value === null) return typeByte.null;
  if (Array.isArray(value)) return typeByte.array;
  if (value instanceof Date) return typeByte.date;
  if (value instanceof RegExp) return typeByte.regex;
  switch ((value as { _bsontype?: string })._bsontype) {
    case undefined:
      return typeByte.document;
    case 'ObjectId':
      return typeByte.objectId;
    case 'Binary':
      return typeByte.binary;
    case 'Long':
      return typeByte.number;
    case 'Timestamp':
      return typeByte.timestamp;
    case 'MinKey':
      return typeByte.minKey;
    case 'MaxKey':
      return typeByte.maxKey;
    default:
      return typeByte.other;
  }
}

/** Compares two values of any types in MongoDB's order: negative when `a` is less, 0 when equal, else positive. */
export function compareValues(a: unknown, b: unknown): number {
  if (typeof a === typeof b) {
    if (typeof a === 'number' && !Number.isNaN(a) && !Number.isNaN(b)) {
      return a < (b as number) ? -1 : a > (b as number) ? 1 : 0;
    }
    if (a === b) return 0;
    if (typeof a === 'boolean') return a ? 1 : -1;
    if (a instanceof Date && b instanceof Date) return a.getTime() - b.getTime();
  }
  const types = typeOrder(a) - typeOrder(b);
  return types === 0 ? Buffer.compare(encodeKey(a), encodeKey(b)) : types;
}

/** True if MongoDB compares both as equal: 1 and Long 1 are equal, documents with a different field order are not. */
export function sameValue(a: unknown, b: unknown): boolean {
  if (a === b) return true;
  if (typeof a !== 'object' || typeof b !== 'object' || a === null || b === null) {
    // Long against number, NaN against NaN, undefined against null.
    if (typeof a === 'string' || typeof b === 'string') return false;
    return compareValues(a, b) === 0;
  }
  if (Array.isArray(a)) {
    return Array.isArray(b) && a.length === b.length && a.every((item, i) => sameValue(item, b[i]));
  }
  if (isDocument(a)) {
    if (!isDocument(b)) return false;
    const keys = Object.keys(a);
    const others = Object.keys(b);
    return (
      keys.length === others.length &&
      keys.every((key, i) => key === others[i] && sameValue((a as Document)[key], (b as Document)[key]))
    );
  }
  return compareValues(a, b) === 0;
}

/**
 * Encodes a value as a key. Keys have the order of their values when compared as bytes. No key is a prefix of
 * another.
 */
export function encodeKey(value: unknown): Uint8Array {
  const writer = new KeyWriter();
  writer.value(value);
  return writer.take();
}

/** The key of a value, as a part of an index key: a latin1 text, inverted if `direction` is -1. */
export function keyText(value: unknown, direction: 1 | -1): string {
  if (direction === 1 && typeof value === 'string' && printable.test(value))
    return stringType + value + stringEnd;
  textWriter.part(value, direction);
  return textWriter.takeText();
}

/** Printable ASCII. Its UTF-8 encoding is the same text in latin1, without a zero byte. */
const printable = /^[ -~]*$/;
const stringType = String.fromCharCode(typeByte.string);
const stringEnd = '\0\0';

/** Writes keys of one or several values. The bytes of a descending value are inverted. */
export class KeyWriter {
  #bytes: Buffer = Buffer.allocUnsafe(128);
  #length = 0;

  /** Appends one value's key, inverted when `direction` is -1. */
  part(value: unknown, direction: 1 | -1): void {
    const start = this.#length;
    this.value(value);
    if (direction === -1) {
      for (let i = start; i < this.#length; i++) this.#bytes[i] = ~(this.#bytes[i] as number) & 0xff;
    }
  }

  /** Returns a copy of the written bytes, and clears the writer. */
  take(): Uint8Array {
    const bytes = new Uint8Array(this.#length);
    bytes.set(this.#bytes.subarray(0, this.#length));
    this.#length = 0;
    return bytes;
  }

  /** Like `take`, but returns the bytes as a latin1 text. */
  takeText(): string {
    const text = this.#bytes.toString('latin1', 0, this.#length);
    this.#length = 0;
    return text;
  }

  value(value: unknown): void {
    const type = typeOrder(value);
    this.#byte(type);
    switch (type) {
      case typeByte.number:
        this.#number(value as number | Long);
        return;
      case typeByte.string:
        this.#text(value as string);
        return;
      case typeByte.document:
        for (const key of Object.keys(value as Document)) {
          const field = (value as Document)[key];
          this.#byte(typeOrder(field));
          this.#text(key);
          this.value(field);
        }
        this.#byte(0);
        return;
      case typeByte.array:
        for (const item of value as unknown[]) this.value(item);
        this.#byte(0);
        return;
      case typeByte.binary:
        this.#binary(value as Binary);
        return;
      case typeByte.objectId:
        this.#raw((value as ObjectId).id);
        return;
      case typeByte.boolean:
        this.#byte(value ? 1 : 0);
        return;
      case typeByte.date:
        this.#int64(BigInt((value as Date).getTime()));
        return;
      case typeByte.timestamp:
        this.#int64(BigInt((value as Timestamp).toString()) - 2n ** 63n);
        return;
      case typeByte.regex:
        this.#text((value as RegExp).source);
        this.#text((value as RegExp).flags);
        return;
      case typeByte.other:
        throw new TypeError('The embedded store cannot order or index this type of value.');
    }
  }

  #byte(byte: number): void {
    this.#reserve(1);
    this.#bytes[this.#length++] = byte;
  }

  /**
   * Writes 8 bytes: the largest double that is not greater than the number, with its bits changed so that bytes have
   * the order of numbers. Then 2 bytes: the difference between a 64-bit integer and this double.
   */
  #number(value: number | Long): void {
    let double: number;
    let above = 0;
    if (typeof value === 'number') {
      double = value;
    } else {
      const exact = value.toBigInt();
      double = Number(exact);
      if (BigInt(double) > exact) double = nextDown(double);
      above = Number(exact - BigInt(double));
    }
    this.#reserve(10);
    const at = this.#length;
    if (Number.isNaN(double)) {
      // MongoDB orders NaN below every other number.
      this.#bytes.fill(0, at, at + 8);
    } else {
      this.#bytes.writeDoubleBE(double === 0 ? 0 : double, at);
      const negative = (this.#bytes[at] as number) & 0x80;
      if (negative) {
        for (let i = at; i < at + 8; i++) this.#bytes[i] = ~(this.#bytes[i] as number) & 0xff;
      } else {
        this.#bytes[at] = (this.#bytes[at] as number) | 0x80;
      }
    }
    this.#bytes.writeUInt16BE(above, at + 8);
    this.#length += 10;
  }

  /** Writes UTF-8. A zero byte becomes 00 FF. The end is marked by 00 00. */
  #text(value: string): void {
    if (value.includes('\0')) {
      for (const [i, piece] of value.split('\0').entries()) {
        if (i > 0) this.#raw([0, 0xff]);
        this.#plainText(piece);
      }
    } else {
      this.#plainText(value);
    }
    this.#raw([0, 0]);
  }

  #plainText(value: string): void {
    this.#reserve(value.length * 3);
    this.#length += this.#bytes.write(value, this.#length, 'utf8');
  }

  /** MongoDB orders binary data by length, then subtype, then bytes. */
  #binary(value: Binary): void {
    this.#reserve(5);
    this.#bytes.writeUInt32BE(value.position, this.#length);
    this.#bytes[this.#length + 4] = value.sub_type;
    this.#length += 5;
    this.#raw(value.buffer.subarray(0, value.position));
  }

  #int64(value: bigint): void {
    this.#reserve(8);
    this.#bytes.writeBigUInt64BE(value + 2n ** 63n, this.#length);
    this.#length += 8;
  }

  #raw(bytes: ArrayLike<number>): void {
    this.#reserve(bytes.length);
    this.#bytes.set(bytes, this.#length);
    this.#length += bytes.length;
  }

  #reserve(size: number): void {
    if (this.#length + size <= this.#bytes.length) return;
    const grown = Buffer.allocUnsafe(Math.max(this.#bytes.length * 2, this.#length + size));
    grown.set(this.#bytes.subarray(0, this.#length));
    this.#bytes = grown;
  }
}

const textWriter = new KeyWriter();

/** The smallest byte string that is greater than all keys that begin with `prefix`. */
export function afterPrefix(prefix: Uint8Array): Uint8Array {
  let end = prefix.length;
  while (end > 0 && prefix[end - 1] === 0xff) end -= 1;
  if (end === 0) return Uint8Array.of(0xff, 0xff);
  // `slice` of a Buffer does not copy.
  const key = new Uint8Array(prefix.subarray(0, end));
  key[end - 1] = (key[end - 1] as number) + 1;
  return key;
}

function nextDown(value: number): number {
  const view = new DataView(new ArrayBuffer(8));
  view.setFloat64(0, value);
  const bits = view.getBigInt64(0);
  view.setBigInt64(0, value > 0 ? bits - 1n : bits + 1n);
  return view.getFloat64(0);
}
