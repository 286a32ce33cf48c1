import { type Entry, getFileNameLowLevel, validateFileName, type ZipFile } from 'yauzl';
import { bounds, PackageRejectedError, printable } from './bounds.ts';

/** An entry of the central directory, with the fields that the check keeps. */
export interface DirectoryEntry {
  readonly name: string;
  readonly relativeOffsetOfLocalHeader: number;
  readonly compressedSize: number;
  readonly uncompressedSize: number;
  readonly compressionMethod: number;
  readonly crc32: number;
}

/** An entry with the offset of its content in the file. */
export interface LocatedEntry extends DirectoryEntry {
  readonly dataStart: number;
}

const stored = 0;
const deflated = 8;
/** Bytes of an entry in the central directory, without name, extra field and comment. */
const fixedEntryBytes = 46;
/** General purpose flag of an entry whose name is in UTF-8. */
const utf8NameFlag = 0x800;
/** Allowed file types in the Unix file mode of an entry: none, file, folder. */
const allowedFileTypes = [0, 0o10, 0o04];

/** Reads and validates the central directory. No content is read. */
export async function readDirectory(zip: ZipFile): Promise<DirectoryEntry[]> {
  if (zip.entryCount > bounds.entries) {
    throw new PackageRejectedError('bounds', `It has more than ${bounds.entries} entries.`);
  }
  const maxUnpackedBytes = Math.min(
    bounds.unpackedBytes,
    Math.max(bounds.ratioExemptBytes, zip.fileSize * bounds.ratio),
  );
  const names = new Set<string>();
  const found: DirectoryEntry[] = [];
  let [directoryBytes, unpackedBytes] = [0, 0];
  for await (const entry of zip.eachEntry()) {
    directoryBytes +=
      fixedEntryBytes + entry.fileNameLength + entry.extraFieldLength + entry.fileCommentLength;
    if (directoryBytes > bounds.directoryBytes) {
      throw new PackageRejectedError('bounds', `Its directory has more than ${bounds.directoryBytes} bytes.`);
    }
    const name = nameOf(entry);
    if (names.has(name)) throw new PackageRejectedError('unsafe', `It has more than one ${printable(name)}.`);
    names.add(name);
    requireReadable(entry, name);
    unpackedBytes += entry.uncompressedSize;
    if (unpackedBytes > maxUnpackedBytes)
      throw new PackageRejectedError('bounds', `It unpacks to more than ${maxUnpackedBytes} bytes.`);
    const { relativeOffsetOfLocalHeader, compressedSize, uncompressedSize, compressionMethod, crc32 } = entry;
    found.push({
      ...{ name, relativeOffsetOfLocalHeader, compressedSize, uncompressedSize, compressionMethod, crc32 },
    });
  }
  return found;
}

/** The name as Android reads it: always as UTF-8. Android ignores the flag and the extra fields. */
function nameOf(entry: Entry): string {
  if (entry.fileNameLength > bounds.nameBytes) {
    throw new PackageRejectedError(
      'bounds',
      `It has an entry whose name has more than ${bounds.nameBytes} bytes.`,
    );
  }
  const name = getFileNameLowLevel(utf8NameFlag, entry.fileNameRaw, [], true);
  if (!Buffer.from(name).equals(entry.fileNameRaw) || name.includes('\0') || name === '') {
    throw new PackageRejectedError('unsafe', `The name of its entry ${printable(name)} is not in UTF-8.`);
  }
  if (validateFileName(name.replaceAll('\\', '/')) !== null) {
    throw new PackageRejectedError('unsafe', `The name of its entry ${printable(name)} leaves the package.`);
  }
  return name;
}

function requireReadable(entry: Entry, name: string): void {
  if (!allowedFileTypes.includes(entry.externalFileAttributes >>> 28)) {
    throw new PackageRejectedError('unsafe', `Its entry ${printable(name)} is a link or device.`);
  }
  if (entry.isEncrypted()) throw new PackageRejectedError('not_whole', 'It has encrypted entries.');
  if (![stored, deflated].includes(entry.compressionMethod)) {
    throw new PackageRejectedError(
      'not_whole',
      `Its entry ${printable(name)} is compressed in a way Android does not read.`,
    );
  }
  if (entry.uncompressedSize > bounds.entryBytes) {
    throw new PackageRejectedError(
      'bounds',
      `Its entry ${printable(name)} unpacks to more than ${bounds.entryBytes} bytes.`,
    );
  }
}

/**
 * Finds the content of each entry. Returns the entries in the order of their content in the file. Throws if entries
 * overlap: otherwise a small file could contain many entries that unpack the same bytes.
 */
export async function locate(zip: ZipFile, listed: readonly DirectoryEntry[]): Promise<LocatedEntry[]> {
  const inOrder = listed.toSorted((a, b) => a.relativeOffsetOfLocalHeader - b.relativeOffsetOfLocalHeader);
  const located: LocatedEntry[] = [];
  let [end, before] = [0, ''];
  for (const entry of inOrder) {
    if (entry.relativeOffsetOfLocalHeader < end) {
      throw new PackageRejectedError(
        'unsafe',
        `Its entries ${printable(before)} and ${printable(entry.name)} overlap.`,
      );
    }
    // yauzl reads only these fields of the entry.
    const header = await zip.readLocalFileHeaderPromise(entry as unknown as Entry);
    if (
      !header.fileName.equals(Buffer.from(entry.name)) ||
      header.compressionMethod !== entry.compressionMethod
    ) {
      throw new PackageRejectedError(
        'unsafe',
        `Its entry ${printable(entry.name)} has another name in its own header.`,
      );
    }
    located.push({ ...entry, dataStart: header.fileDataStart });
    [end, before] = [header.fileDataStart + entry.compressedSize, entry.name];
  }
  return located;
}
