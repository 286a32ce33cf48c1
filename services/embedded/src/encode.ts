import { Binary, BSON, type Document, ObjectId } from 'mongodb';

/** Options of BSON serialization, the same as the driver's defaults. */
const serializeOptions = { ignoreUndefined: false } as const;

/** BSON's numbers of types. */
const typeOf = {
  double: 1,
  string: 2,
  document: 3,
  array: 4,
  binary: 5,
  objectId: 7,
  boolean: 8,
  date: 9,
  null: 10,
  int32: 16,
} as const;

const { getPrototypeOf, prototype: plainPrototype } = Object;
/** Up to this length a text is written by a loop; a call for it would take longer. */
const shortText = 48;
/** A buffer that has become larger is not kept. */
const keptBytes = 1024 * 1024;
const firstBytes = 64 * 1024;

let bytes = Buffer.allocUnsafe(firstBytes);
let at = 0;

/**
 * Encodes a normalised document as BSON, as the driver does, in less than half the time; a document with a type or a
 * name that documents seldom have is left to the driver. The answer may change with the next call.
 */
export function encodeDocument(document: Document): Uint8Array {
  at = 0;
  if (bytes.length > keptBytes) bytes = Buffer.allocUnsafe(firstBytes);
  return writeDocument(document) ? bytes.subarray(0, at) : BSON.serialize(document, serializeOptions);
}

/** These answer false where the driver is to encode. */
function writeDocument(document: Document): boolean {
  const start = at;
  reserve(4);
  at += 4;
  for (const key in document) if (!writeElement(key, document[key])) return false;
  end(start);
  return true;
}

function writeArray(items: readonly unknown[]): boolean {
  const start = at;
  reserve(4);
  at += 4;
  for (let i = 0; i < items.length; i++) if (!writeElement(String(i), items[i])) return false;
  end(start);
  return true;
}

function end(start: number): void {
  reserve(1);
  bytes[at++] = 0;
  bytes.writeInt32LE(at - start, start);
}

function writeElement(key: string, value: unknown): boolean {
  switch (typeof value) {
    case 'string':
      if (!writeKey(typeOf.string, key)) return false;
      writeText(value);
      return true;
    case 'number':
      return writeNumber(key, value);
    case 'boolean':
      if (!writeKey(typeOf.boolean, key)) return false;
      bytes[at++] = value ? 1 : 0;
      return true;
    case 'undefined':
      return writeKey(typeOf.null, key);
    case 'object':
      return value === null ? writeKey(typeOf.null, key) : writeObject(key, value);
    default:
      return false;
  }
}

function writeObject(key: string, value: object): boolean {
  if (Array.isArray(value)) return writeKey(typeOf.array, key) && writeArray(value);
  if (getPrototypeOf(value) === plainPrototype) {
    return !('_bsontype' in value) && writeKey(typeOf.document, key) && writeDocument(value);
  }
  if (value instanceof Date) {
    const ms = value.getTime();
    if (Number.isNaN(ms) || !writeKey(typeOf.date, key)) return false;
    const high = Math.floor(ms / 2 ** 32);
    bytes.writeUInt32LE(ms - high * 2 ** 32, at);
    bytes.writeInt32LE(high, at + 4);
    at += 8;
    return true;
  }
  if (value instanceof ObjectId) {
    if (!writeKey(typeOf.objectId, key)) return false;
    bytes.set(value.id, at);
    at += 12;
    return true;
  }
  return value instanceof Binary && writeBinary(key, value);
}

function writeBinary(key: string, { buffer, position, sub_type: subtype }: Binary): boolean {
  // Of two subtypes the driver writes or checks more.
  if (subtype === Binary.SUBTYPE_BYTE_ARRAY || subtype === Binary.SUBTYPE_VECTOR) return false;
  if (!writeKey(typeOf.binary, key)) return false;
  reserve(5 + position);
  bytes.writeInt32LE(position, at);
  bytes[at + 4] = subtype;
  bytes.set(position === buffer.length ? buffer : buffer.subarray(0, position), at + 5);
  at += 5 + position;
  return true;
}

function writeNumber(key: string, value: number): boolean {
  if ((value | 0) === value && !Object.is(value, -0)) {
    if (!writeKey(typeOf.int32, key)) return false;
    bytes.writeInt32LE(value, at);
    at += 4;
    return true;
  }
  if (!writeKey(typeOf.double, key)) return false;
  bytes.writeDoubleLE(value, at);
  at += 8;
  return true;
}

/** An element's type and name; there is room for 12 bytes after it. */
function writeKey(type: number, key: string): boolean {
  reserve(key.length + 14);
  bytes[at++] = type;
  for (let i = 0; i < key.length; i++) {
    const code = key.charCodeAt(i);
    if (code === 0 || code > 0x7f) return false;
    bytes[at++] = code;
  }
  bytes[at++] = 0;
  return true;
}

function writeText(text: string): void {
  const { length } = text;
  reserve(length * 3 + 5);
  const start = at + 4;
  let written = 0;
  if (length <= shortText) {
    for (; written < length; written++) {
      const code = text.charCodeAt(written);
      if (code > 0x7f) break;
      bytes[start + written] = code;
    }
  }
  if (written < length) written = bytes.write(text, start, 'utf8');
  bytes.writeInt32LE(written + 1, at);
  at = start + written;
  bytes[at++] = 0;
}

function reserve(length: number): void {
  if (at + length <= bytes.length) return;
  const grown = Buffer.allocUnsafe(Math.max(2 * bytes.length, at + length));
  grown.set(bytes.subarray(0, at));
  bytes = grown;
}
