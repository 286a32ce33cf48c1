import { type Entry, getFileNameLowLevel, validateFileName, type ZipFile } from 'yauzl';
import { bounds, printable, Unfit } from './bounds.ts';

/** Fields of an entry that the check keeps: a few numbers and its name. */
export interface Listed {
  readonly name: string;
  readonly relativeOffsetOfLocalHeader: number;
  readonly compressedSize: number;
  readonly uncompressedSize: number;
  readonly compressionMethod: number;
  readonly crc32: number;
}

/** An entry whose content was found. */
export interface Located extends Listed {
  readonly dataStart: number;
}

const stored = 0;
const deflated = 8;
/** File types that an entry may have, from its Unix file mode: not given, file, folder. */
const plainKinds = [0, 0o10, 0o04];

/** Reads and validates the central directory. No content is read. */
export async function readDirectory(zip: ZipFile): Promise<Listed[]> {
  if (zip.entryCount > bounds.entries) {
    throw new Unfit('bounds', `It has more than ${bounds.entries} entries.`);
  }
  const mostUnpacked = Math.min(
    bounds.unpackedBytes,
    Math.max(bounds.freeBytes, zip.fileSize * bounds.ratio),
  );
  const names = new Set<string>();
  const found: Listed[] = [];
  let [directory, unpacked] = [0, 0];
  for await (const entry of zip.eachEntry()) {
    directory += 46 + entry.fileNameLength + entry.extraFieldLength + entry.fileCommentLength;
    if (directory > bounds.directoryBytes) {
      throw new Unfit('bounds', `Its directory has more than ${bounds.directoryBytes} bytes.`);
    }
    const name = nameOf(entry);
    if (names.has(name)) throw new Unfit('unsafe', `It has more than one ${printable(name)}.`);
    names.add(name);
    requirePlain(entry, name);
    unpacked += entry.uncompressedSize;
    if (unpacked > mostUnpacked) throw new Unfit('bounds', `It unpacks to more than ${mostUnpacked} bytes.`);
    const { relativeOffsetOfLocalHeader, compressedSize, uncompressedSize, compressionMethod, crc32 } = entry;
    found.push({
      ...{ name, relativeOffsetOfLocalHeader, compressedSize, uncompressedSize, compressionMethod, crc32 },
    });
  }
  return found;
}

/** The name as Android reads it: UTF-8, whatever the flag and extra fields say. */
function nameOf(entry: Entry): string {
  if (entry.fileNameLength > bounds.nameBytes) {
    throw new Unfit('bounds', `It has an entry whose name has more than ${bounds.nameBytes} bytes.`);
  }
  const name = getFileNameLowLevel(0x800, entry.fileNameRaw, [], true);
  if (!Buffer.from(name).equals(entry.fileNameRaw) || name.includes('\0') || name === '') {
    throw new Unfit('unsafe', `The name of its entry ${printable(name)} is not in UTF-8.`);
  }
  if (validateFileName(name.replaceAll('\\', '/')) !== null) {
    throw new Unfit('unsafe', `The name of its entry ${printable(name)} leaves the package.`);
  }
  return name;
}

function requirePlain(entry: Entry, name: string): void {
  if (!plainKinds.includes(entry.externalFileAttributes >>> 28)) {
    throw new Unfit('unsafe', `Its entry ${printable(name)} is a link or device.`);
  }
  if (entry.isEncrypted()) throw new Unfit('not_whole', 'It has encrypted entries.');
  if (![stored, deflated].includes(entry.compressionMethod)) {
    throw new Unfit(
      'not_whole',
      `Its entry ${printable(name)} is compressed in a way Android does not read.`,
    );
  }
  if (entry.uncompressedSize > bounds.entryBytes) {
    throw new Unfit(
      'bounds',
      `Its entry ${printable(name)} unpacks to more than ${bounds.entryBytes} bytes.`,
    );
  }
}

/**
 * Finds the content of each entry, in the order of the file. Throws if entries share bytes, because a small file could
 * otherwise unpack one content many times.
 */
export async function locate(zip: ZipFile, listed: readonly Listed[]): Promise<Located[]> {
  const inOrder = listed.toSorted((a, b) => a.relativeOffsetOfLocalHeader - b.relativeOffsetOfLocalHeader);
  const located: Located[] = [];
  let [end, before] = [0, ''];
  for (const one of inOrder) {
    if (one.relativeOffsetOfLocalHeader < end) {
      throw new Unfit('unsafe', `Its entries ${printable(before)} and ${printable(one.name)} overlap.`);
    }
    // yauzl reads only these fields of the entry.
    const header = await zip.readLocalFileHeaderPromise(one as unknown as Entry);
    if (
      !header.fileName.equals(Buffer.from(one.name)) ||
      header.compressionMethod !== one.compressionMethod
    ) {
      throw new Unfit('unsafe', `Its entry ${printable(one.name)} has another name in its own header.`);
    }
    located.push({ ...one, dataStart: header.fileDataStart });
    [end, before] = [header.fileDataStart + one.compressedSize, one.name];
  }
  return located;
}
