import { buffer } from 'node:stream/consumers';
import { ZipFile } from 'yazl';

/** The name, version and content of a generated package. */
export interface ApkOptions {
  readonly package?: string;
  /** android:versionName; null: absent from the manifest. */
  readonly versionName?: string | null;
  /** Entries besides the manifest. */
  readonly entries?: Readonly<Record<string, Buffer>>;
  /** Replaces the generated manifest; null: no manifest. */
  readonly manifest?: Buffer | null;
  /** Texts in UTF-8, like those of newer build tools; default UTF-16. */
  readonly utf8?: boolean;
  /** False: the package has no signature. */
  readonly signed?: boolean;
  /** Attributes of the manifest for split packages. */
  readonly splits?: SplitAttributes;
}

/** Attributes of <manifest>; absent attributes are left out. */
export interface SplitAttributes {
  readonly split?: string;
  readonly isSplitRequired?: boolean;
  readonly requiredSplitTypes?: string;
}

/**
 * Builds an Android package: a zip with a binary manifest and an APK Signing Block of scheme v2 with an empty
 * signature. The same options produce the same bytes.
 */
export async function makeApk(options: ApkOptions = {}): Promise<Buffer> {
  const zip = new ZipFile();
  const mtime = new Date(2024, 0, 1);
  const manifest =
    options.manifest === undefined
      ? makeManifest({
          package: options.package ?? 'com.example.app',
          versionName: options.versionName === undefined ? '1.0.0' : options.versionName,
          utf8: options.utf8 ?? false,
          splits: options.splits ?? {},
        })
      : options.manifest;
  if (manifest) zip.addBuffer(manifest, 'AndroidManifest.xml', { mtime });
  const entries = options.entries ?? { 'classes.dex': Buffer.from('dex\n035\0 not really') };
  for (const [name, content] of Object.entries(entries)) {
    zip.addBuffer(content, name, { mtime, compress: !name.endsWith('.bin') });
  }
  zip.end();
  const bytes = await buffer(zip.outputStream);
  return options.signed === false ? bytes : withSigningBlock(bytes);
}

/** Inserts the block before the zip's directory, as `apksigner` does. The zip has no comment. */
export function withSigningBlock(zip: Buffer, schemeId = 0x7109871a): Buffer {
  const end = zip.length - 22;
  const directory = zip.readUInt32LE(end + 16);
  // One signer: signed data (digests, certificates, attributes), signatures, public key.
  const signer = lengthPrefixed(
    lengthPrefixed(lengthPrefixed(), lengthPrefixed(), lengthPrefixed()),
    lengthPrefixed(),
    lengthPrefixed(),
  );
  const value = Buffer.concat([uint32s(schemeId), lengthPrefixed(signer)]);
  const pair = Buffer.concat([uint64(value.length), value]);
  const size = uint64(pair.length + 8 + 16);
  const block = Buffer.concat([size, pair, size, Buffer.from('APK Sig Block 42')]);
  const moved = Buffer.from(zip.subarray(end));
  moved.writeUInt32LE(directory + block.length, 16);
  return Buffer.concat([zip.subarray(0, directory), block, zip.subarray(directory, end), moved]);
}

function lengthPrefixed(...parts: readonly Buffer[]): Buffer {
  const content = Buffer.concat(parts);
  return Buffer.concat([uint32s(content.length), content]);
}

const androidNamespace = 'http://schemas.android.com/apk/res/android';
/** No string, and no namespace. */
const none = 0xffffffff;
const booleanTrue = 0xffffffff;
const typeString = 0x03;
const typeDecimal = 0x10;
const typeBoolean = 0x12;
/** Resource ids of android:versionCode, versionName, isSplitRequired and requiredSplitTypes. */
const resourceIds = [0x0101021b, 0x0101021c, 0x01010591, 0x0101064e];

/** A binary AndroidManifest.xml (AOSP's ResourceTypes.h), like those of build tools. */
export function makeManifest(options: {
  package: string;
  versionName: string | null;
  utf8?: boolean;
  splits?: SplitAttributes;
}): Buffer {
  // The first strings are the names of the resource ids, in the same order.
  const strings = [
    'versionCode',
    'versionName',
    'isSplitRequired',
    'requiredSplitTypes',
    'android',
    androidNamespace,
    'manifest',
    'package',
  ];
  const indexOf = (text: string) => {
    if (!strings.includes(text)) strings.push(text);
    return strings.indexOf(text);
  };
  const { split, isSplitRequired, requiredSplitTypes } = options.splits ?? {};
  const namespace = indexOf(androidNamespace);
  const attribute = (ns: number, name: string, type: number, raw: number, data: number) =>
    uint32s(ns, indexOf(name), raw, 0x08 | (type << 24), data);
  const text = (ns: number, name: string, value: string) =>
    attribute(ns, name, typeString, indexOf(value), indexOf(value));
  const attributes = [
    attribute(namespace, 'versionCode', typeDecimal, none, 7),
    ...(options.versionName === null ? [] : [text(namespace, 'versionName', options.versionName)]),
    ...(isSplitRequired === undefined
      ? []
      : [attribute(namespace, 'isSplitRequired', typeBoolean, none, isSplitRequired ? booleanTrue : 0)]),
    ...(requiredSplitTypes === undefined ? [] : [text(namespace, 'requiredSplitTypes', requiredSplitTypes)]),
    ...(split === undefined ? [] : [text(none, 'split', split)]),
    text(none, 'package', options.package),
  ];
  const start = Buffer.concat([
    uint32s(none, indexOf('manifest')),
    uint16s(20, 20, attributes.length, 0, 0, 0),
    ...attributes,
  ]);
  const names = uint32s(indexOf('android'), namespace);
  const line = uint32s(1, none);
  const body = [
    stringPool(strings, options.utf8 ?? false),
    // The chunks: resource ids, start of the namespace, start and end of the element, end of the namespace.
    chunk(0x0180, 8, Buffer.alloc(0), uint32s(...resourceIds)),
    chunk(0x0100, 16, line, names),
    chunk(0x0102, 16, line, start),
    chunk(0x0103, 16, line, uint32s(none, indexOf('manifest'))),
    chunk(0x0101, 16, line, names),
  ];
  // The chunk of the whole XML document.
  return chunk(0x0003, 8, Buffer.alloc(0), Buffer.concat(body));
}

function stringPool(strings: readonly string[], utf8: boolean): Buffer {
  const encoded = strings.map((s) => (utf8 ? utf8Text(s) : utf16Text(s)));
  let offset = 0;
  const offsets = encoded.map((e) => {
    offset += e.length;
    return offset - e.length;
  });
  const data = Buffer.concat(encoded);
  const padded = Buffer.concat([data, Buffer.alloc((4 - (data.length % 4)) % 4)]);
  const head = uint32s(strings.length, 0, utf8 ? 1 << 8 : 0, 28 + strings.length * 4, 0);
  return chunk(0x0001, 28, head, Buffer.concat([uint32s(...offsets), padded]));
}

/** Lengths in characters and in bytes, each in one byte or, with the high bit set, two. */
function utf8Text(text: string): Buffer {
  const bytes = Buffer.from(text);
  const length = (n: number) => (n < 0x80 ? Buffer.from([n]) : Buffer.from([0x80 | (n >> 8), n & 0xff]));
  return Buffer.concat([length(text.length), length(bytes.length), bytes, Buffer.from([0])]);
}

function utf16Text(text: string): Buffer {
  const n = text.length;
  const length = n < 0x8000 ? uint16s(n) : uint16s(0x8000 | (n >> 16), n & 0xffff);
  return Buffer.concat([length, Buffer.from(text, 'utf16le'), uint16s(0)]);
}

/** A chunk: type, header size, total size, rest of the header, body. */
function chunk(type: number, headerSize: number, head: Buffer, body: Buffer): Buffer {
  return Buffer.concat([uint16s(type, headerSize), uint32s(8 + head.length + body.length), head, body]);
}

function uint32s(...values: number[]): Buffer {
  const bytes = Buffer.alloc(values.length * 4);
  for (const [i, value] of values.entries()) bytes.writeUInt32LE(value, i * 4);
  return bytes;
}

function uint64(value: number): Buffer {
  const bytes = Buffer.alloc(8);
  bytes.writeBigUInt64LE(BigInt(value));
  return bytes;
}

function uint16s(...values: number[]): Buffer {
  const bytes = Buffer.alloc(values.length * 2);
  for (const [i, value] of values.entries()) bytes.writeUInt16LE(value, i * 2);
  return bytes;
}
