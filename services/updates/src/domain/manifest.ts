/** The attributes of an Android package's manifest that the check needs. */
export interface Manifest {
  readonly package: string;
  readonly versionName: string;
  /** Name of the split that the file is; empty for a base. */
  readonly split: string;
  /** True if Android installs the package only together with splits. */
  readonly requiresSplits: boolean;
}

/** Why a binary manifest cannot be read; for the uploader. */
export class ManifestError extends Error {}

const chunk = { stringPool: 0x0001, xml: 0x0003, startElement: 0x0102, resourceMap: 0x0180 } as const;
/**
 * Resource ids of the attributes in the namespace android. A build tool may remove names from a manifest, but not
 * ids.
 */
const ids = {
  versionName: 0x0101021c,
  isSplitRequired: 0x01010591,
  requiredSplitTypes: 0x0101064e,
} as const;
const typeString = 0x03;
/** Types of numbers and booleans; a value other than 0 is true. */
const [typeFirstInt, typeLastInt] = [0x10, 0x1f];
const utf8Flag = 1 << 8;
const noNamespace = 0xffffffff;

/**
 * Reads package, versionName and the split attributes of AndroidManifest.xml in Android's binary form (AOSP's
 * ResourceTypes.h). Visits each chunk once and decodes only the texts that it needs, so that the manifest's size bounds
 * time and memory. Throws ManifestError.
 */
export function readManifest(bytes: Buffer): Manifest {
  try {
    return read(bytes);
  } catch (error) {
    if (error instanceof ManifestError) throw error;
    // Every read beyond the end is a RangeError.
    throw new ManifestError('AndroidManifest.xml is cut off or broken.');
  }
}

function read(bytes: Buffer): Manifest {
  if (bytes.readUInt16LE(0) !== chunk.xml) {
    throw new ManifestError('AndroidManifest.xml is not in Android’s binary form.');
  }
  let strings: Texts | undefined;
  let resourceIds: (index: number) => number = () => 0;
  for (let at = bytes.readUInt16LE(2); at < bytes.length; ) {
    const type = bytes.readUInt16LE(at);
    const headerSize = bytes.readUInt16LE(at + 2);
    const size = bytes.readUInt32LE(at + 4);
    if (size < 8 || headerSize < 8 || headerSize > size || at + size > bytes.length) {
      throw new ManifestError('AndroidManifest.xml is cut off or broken.');
    }
    const body = bytes.subarray(at, at + size);
    if (type === chunk.stringPool) strings = readStringPool(body, headerSize);
    else if (type === chunk.resourceMap) {
      const count = (size - headerSize) >> 2;
      resourceIds = (index) => (index < count ? body.readUInt32LE(headerSize + index * 4) : 0);
    } else if (type === chunk.startElement) {
      if (!strings) throw new ManifestError('AndroidManifest.xml has no texts before its elements.');
      return readManifestElement(body, headerSize, strings, resourceIds);
    }
    at += size;
  }
  throw new ManifestError('AndroidManifest.xml has no elements.');
}

/** The texts of a manifest, by index. */
interface Texts {
  is(index: number, text: string): boolean;
  text(index: number): string;
}

const attributeSize = 20;

/** Reads the first element of the file, which must be <manifest>. `at`: offset of the element in `body`. */
function readManifestElement(
  body: Buffer,
  at: number,
  { is, text }: Texts,
  resourceId: (index: number) => number,
): Manifest {
  if (!is(body.readUInt32LE(at + 4), 'manifest')) {
    throw new ManifestError('AndroidManifest.xml does not begin with a manifest element.');
  }
  const first = at + body.readUInt16LE(at + 8);
  const size = body.readUInt16LE(at + 10);
  const count = body.readUInt16LE(at + 12);
  // Smaller attributes would overlap, and the number of attributes in the file would be unlimited.
  if (size < attributeSize) throw new ManifestError('AndroidManifest.xml is cut off or broken.');
  let packageName: string | undefined;
  let versionName: string | undefined;
  let split: string | undefined;
  let requiresSplits = false;
  for (let i = 0; i < count; i += 1) {
    const attribute = first + i * size;
    const name = body.readUInt32LE(attribute + 4);
    const id = resourceId(name);
    const type = body.readUInt8(attribute + 15);
    const data = body.readUInt32LE(attribute + 16);
    if (id === ids.isSplitRequired) {
      requiresSplits ||= type >= typeFirstInt && type <= typeLastInt && data !== 0;
      continue;
    }
    if (id === ids.requiredSplitTypes) {
      requiresSplits ||= type === typeString && !is(data, '');
      continue;
    }
    const hasNoNamespace = body.readUInt32LE(attribute) === noNamespace;
    const isVersionName = id === ids.versionName;
    const isPackage = hasNoNamespace && is(name, 'package');
    const isSplit = hasNoNamespace && is(name, 'split');
    if (!isVersionName && !isPackage && !isSplit) continue;
    if (type !== typeString) {
      const called = isVersionName ? 'android:versionName' : isPackage ? 'package' : 'split';
      throw new ManifestError(
        `AndroidManifest.xml gives ${called} as a reference. It must be a literal text.`,
      );
    }
    // If an attribute occurs several times, the first occurrence is valid. Only this occurrence is decoded.
    if (isVersionName) versionName ??= text(data);
    else if (isPackage) packageName ??= text(data);
    else split ??= text(data);
  }
  if (packageName === undefined) throw new ManifestError('AndroidManifest.xml names no package.');
  if (versionName === undefined) throw new ManifestError('AndroidManifest.xml names no android:versionName.');
  return { package: packageName, versionName, split: split ?? '', requiresSplits };
}

function readStringPool(body: Buffer, headerSize: number): Texts {
  const count = body.readUInt32LE(8);
  const utf8 = (body.readUInt32LE(16) & utf8Flag) !== 0;
  const start = body.readUInt32LE(20);
  const bytesOf = (index: number): Buffer => {
    if (index >= count)
      throw new ManifestError('AndroidManifest.xml refers to a text that it does not have.');
    const at = start + body.readUInt32LE(headerSize + index * 4);
    return utf8 ? utf8Bytes(body, at) : utf16Bytes(body, at);
  };
  const encoding = utf8 ? 'utf8' : 'utf16le';
  return {
    // Compares bytes without decoding, because the names of many attributes may refer to one long text.
    is: (index, text) => bytesOf(index).equals(Buffer.from(text, encoding)),
    text: (index) => bytesOf(index).toString(encoding),
  };
}

/**
 * Bytes of a UTF-8 text. Two lengths precede the text: in characters and in bytes. A length takes one byte, or two
 * bytes if the high bit of the first byte is set.
 */
function utf8Bytes(body: Buffer, at: number): Buffer {
  const bytesAt = at + (body.readUInt8(at) & 0x80 ? 2 : 1);
  const short = body.readUInt8(bytesAt);
  const long = (short & 0x80) !== 0;
  const length = long ? ((short & 0x7f) << 8) | body.readUInt8(bytesAt + 1) : short;
  return slice(body, bytesAt + (long ? 2 : 1), length);
}

/**
 * Bytes of a UTF-16 text. Its length in characters precedes the text. The length takes two bytes, or four bytes if the
 * high bit of the first 16-bit unit is set.
 */
function utf16Bytes(body: Buffer, at: number): Buffer {
  const short = body.readUInt16LE(at);
  const long = (short & 0x8000) !== 0;
  const length = long ? (short & 0x7fff) * 0x10000 + body.readUInt16LE(at + 2) : short;
  return slice(body, at + (long ? 4 : 2), length * 2);
}

function slice(body: Buffer, at: number, length: number): Buffer {
  if (at + length > body.length) throw new ManifestError('AndroidManifest.xml is cut off or broken.');
  return body.subarray(at, at + length);
}
