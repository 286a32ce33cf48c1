import { fstatSync } from 'node:fs';
import type { Readable } from 'node:stream';
import { crc32 } from 'node:zlib';
import { fromRandomAccessReaderPromise, type ZipFile } from 'yauzl';
import { type Manifest, ManifestError, readManifest } from '../domain/manifest.ts';
import { bounds, printable, type Rejection, Unfit } from './bounds.ts';
import { type Located, locate, readDirectory } from './directory.ts';
import { FileReader } from './file-reader.ts';
import { requireSignature } from './signature.ts';

const manifestName = 'AndroidManifest.xml';

/**
 * Checks that an open file is an Android package of that name and version, safe, signed, installable alone, and whole:
 * every entry unpacks to its declared size and checksum. The declared values are validated before anything is unpacked.
 * Reads the file as a stream and keeps only the directory and the manifest in memory. Returns the reason for a
 * rejection, or undefined if the package passes. Throws when the file cannot be read. Reading blocks the thread.
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
    // eachEntry has a listener only while it runs.
    zip.on('error', () => {});
    // The type in @types/yauzl is wrong. Before the first entry is read, this is the offset of the directory.
    const directoryOffset = zip.readEntryCursor as unknown as number;
    const entries = await locate(zip, await readDirectory(zip));
    const manifest = readManifest(await manifestOf(zip, entries));
    requireEqual('package', manifest.package, declared.package);
    requireEqual('version', manifest.versionName, declared.version);
    requireWhole(manifest, entries);
    for (const entry of entries) await unpack(zip, entry, () => {});
    requireSignature(fd, directoryOffset, entries);
    return undefined;
  } catch (error) {
    if (error instanceof Unfit) return { rule: error.rule, reason: error.message };
    if (error instanceof ManifestError) return { rule: 'manifest', reason: error.message };
    // Errors of the file system carry a system call; any other error is caused by the package's content.
    if ((error as NodeJS.ErrnoException).syscall) throw error;
    const reason = `It is not a whole Android package: ${printable((error as Error).message)}`;
    return { rule: 'not_whole', reason };
  }
}

function requireEqual(what: string, actual: string, declared: string): void {
  if (actual !== declared) {
    throw new Unfit(
      'other_name',
      `Its manifest's ${what} is ${printable(actual)}, not ${declared} as was requested.`,
    );
  }
}

/** A device installs one file. Throws for a split of a package, and for a package that requires splits. */
function requireWhole({ split, requiresSplits }: Manifest, entries: readonly Located[]): void {
  if (split !== '') {
    throw new Unfit('split', `It is the split ${printable(split)} of a package. Upload a universal APK.`);
  }
  if (requiresSplits) {
    throw new Unfit(
      'split',
      'Its manifest requires splits, which are not delivered. Upload a universal APK.',
    );
  }
  if (entries.every(({ name }) => name === manifestName || name.startsWith('META-INF/'))) {
    throw new Unfit('not_whole', `It contains only ${manifestName}.`);
  }
}

async function manifestOf(zip: ZipFile, entries: readonly Located[]): Promise<Buffer> {
  const entry = entries.find(({ name }) => name === manifestName);
  if (!entry) throw new Unfit('manifest', `It has no ${manifestName}.`);
  if (entry.uncompressedSize > bounds.manifestBytes) {
    throw new Unfit('bounds', `Its ${manifestName} is larger than ${bounds.manifestBytes} bytes.`);
  }
  const kept: Buffer[] = [];
  await unpack(zip, entry, (chunk) => kept.push(chunk));
  return Buffer.concat(kept);
}

/** Unpacks an entry to at most its declared size (limited by yauzl). Throws unless the entry is whole. */
async function unpack(zip: ZipFile, entry: Located, take: (chunk: Buffer) => void): Promise<void> {
  const stream = await streamOf(zip, entry);
  let checksum = 0;
  for await (const chunk of stream as AsyncIterable<Buffer>) {
    checksum = crc32(chunk, checksum);
    take(chunk);
  }
  if (checksum !== entry.crc32) {
    throw new Unfit('not_whole', `Its entry ${printable(entry.name)} is broken.`);
  }
}

function streamOf(zip: ZipFile, entry: Located): Promise<Readable> {
  const { dataStart, compressedSize, uncompressedSize, compressionMethod } = entry;
  const inflate = compressionMethod !== 0;
  return new Promise((resolve, reject) => {
    // The promise form calls another method (yauzl 3.4.0).
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
