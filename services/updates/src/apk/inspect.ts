import { fstatSync } from 'node:fs';
import type { Readable } from 'node:stream';
import { crc32 } from 'node:zlib';
import { fromRandomAccessReaderPromise, type ZipFile } from 'yauzl';
import { type Manifest, ManifestError, readManifest } from '../domain/manifest.ts';
import { bounds, PackageRejectedError, printable, type Rejection } from './bounds.ts';
import { type LocatedEntry, locate, readDirectory } from './directory.ts';
import { FileReader } from './file-reader.ts';
import { requireSignature } from './signature.ts';

const manifestName = 'AndroidManifest.xml';

/**
 * Checks an open file. It must be an Android package with the declared name and version. It must be safe, signed, and
 * installable without other files. Every entry must unpack to its declared size and checksum. The declared sizes are
 * validated before anything is unpacked. Only the directory and the manifest are kept in memory. Returns the reason for
 * a rejection, or undefined if the package passes. Throws if the file cannot be read. Reading blocks the thread.
 */
export async function inspectPackage(
  fd: number,
  declared: { readonly package: string; readonly version: string },
): Promise<Rejection | undefined> {
  try {
    const { size } = fstatSync(fd);
    // Names are decoded by directory.ts, after their lengths are known.
    const options = { autoClose: false, decodeStrings: false };
    const zip = await fromRandomAccessReaderPromise(new FileReader(fd), size, options);
    // An error event without a listener ends the process. eachEntry has a listener only while it runs.
    zip.on('error', () => {});
    // The type in @types/yauzl is wrong. Before the first entry is read, this is the offset of the directory.
    const directoryOffset = zip.readEntryCursor as unknown as number;
    const entries = await locate(zip, await readDirectory(zip));
    const manifest = readManifest(await manifestOf(zip, entries));
    requireDeclared('package', manifest.package, declared.package);
    requireDeclared('version', manifest.versionName, declared.version);
    requireInstallable(manifest, entries);
    for (const entry of entries) await unpack(zip, entry, () => {});
    requireSignature(fd, directoryOffset, entries);
    return undefined;
  } catch (error) {
    if (error instanceof PackageRejectedError) return { rule: error.rule, reason: error.message };
    if (error instanceof ManifestError) return { rule: 'manifest', reason: error.message };
    // Errors of the file system carry a system call; any other error is caused by the package's content.
    if ((error as NodeJS.ErrnoException).syscall) throw error;
    const reason = `It is not a whole Android package: ${printable((error as Error).message)}`;
    return { rule: 'not_whole', reason };
  }
}

function requireDeclared(what: string, actual: string, declared: string): void {
  if (actual !== declared) {
    throw new PackageRejectedError(
      'other_name',
      `Its manifest's ${what} is ${printable(actual)}, not ${declared} as was requested.`,
    );
  }
}

/**
 * Throws for a split of a package, for a package that requires splits, and for a package without content. A device
 * installs one file.
 */
function requireInstallable({ split, requiresSplits }: Manifest, entries: readonly LocatedEntry[]): void {
  if (split !== '') {
    throw new PackageRejectedError(
      'split',
      `It is the split ${printable(split)} of a package. Upload a universal APK.`,
    );
  }
  if (requiresSplits) {
    throw new PackageRejectedError(
      'split',
      'Its manifest requires splits, which are not delivered. Upload a universal APK.',
    );
  }
  if (entries.every(({ name }) => name === manifestName || name.startsWith('META-INF/'))) {
    throw new PackageRejectedError('not_whole', `It contains only ${manifestName}.`);
  }
}

async function manifestOf(zip: ZipFile, entries: readonly LocatedEntry[]): Promise<Buffer> {
  const entry = entries.find(({ name }) => name === manifestName);
  if (!entry) throw new PackageRejectedError('manifest', `It has no ${manifestName}.`);
  if (entry.uncompressedSize > bounds.manifestBytes) {
    throw new PackageRejectedError(
      'bounds',
      `Its ${manifestName} is larger than ${bounds.manifestBytes} bytes.`,
    );
  }
  const chunks: Buffer[] = [];
  await unpack(zip, entry, (chunk) => chunks.push(chunk));
  return Buffer.concat(chunks);
}

/** Unpacks an entry to at most its declared size (limited by yauzl). Throws unless the entry is whole. */
async function unpack(zip: ZipFile, entry: LocatedEntry, take: (chunk: Buffer) => void): Promise<void> {
  const stream = await streamOf(zip, entry);
  let checksum = 0;
  for await (const chunk of stream as AsyncIterable<Buffer>) {
    checksum = crc32(chunk, checksum);
    take(chunk);
  }
  if (checksum !== entry.crc32) {
    throw new PackageRejectedError('not_whole', `Its entry ${printable(entry.name)} is broken.`);
  }
}

function streamOf(zip: ZipFile, entry: LocatedEntry): Promise<Readable> {
  const { dataStart, compressedSize, uncompressedSize, compressionMethod } = entry;
  const inflate = compressionMethod !== 0;
  return new Promise((resolve, reject) => {
    // yauzl has no promise form of this method: in version 3.4.0 the promise form calls another method.
    zip.openReadStreamLowLevel(
      dataStart,
      compressedSize,
      0,
      compressedSize,
      inflate,
      uncompressedSize,
      (error, stream) => (error ? reject(error) : resolve(stream)),
    );
  });
}
