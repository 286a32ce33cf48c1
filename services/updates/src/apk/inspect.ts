import type { Readable } from 'node:stream';
import { crc32 } from 'node:zlib';
import { type Entry, open as openZip, type ZipFile } from 'yauzl';
import { ManifestError, readManifest } from '../domain/manifest.ts';

/** Bounds of what a package may unpack to: guards against packages made to exhaust the checker. */
export const bounds = {
  entries: 100_000,
  manifestBytes: 1024 * 1024,
  unpackedBytes: 8 * 1024 ** 3,
  /** Largest ratio of unpacked to packed size, above `freeBytes`; deflate reaches 1032. */
  ratio: 100,
  freeBytes: 16 * 1024 ** 2,
};

/** The kind of rule that a rejected upload breaks; for metrics. */
export type BrokenRule = 'size' | 'not_whole' | 'bounds' | 'manifest' | 'other_name';

/** Why an upload is rejected; the reason is for the uploader. */
export interface Rejection {
  readonly rule: BrokenRule;
  readonly reason: string;
}

class Unfit extends Error {
  readonly rule: BrokenRule;
  constructor(rule: BrokenRule, reason: string) {
    super(reason);
    this.rule = rule;
  }
}

const manifestName = 'AndroidManifest.xml';

/**
 * Checks that a file is an Android package of that name and version, and whole: every entry unpacks to its
 * declared size and checksum. Reads it as a stream and keeps only the manifest in memory. Returns why it is
 * rejected, undefined when it passes. Throws when the file cannot be read.
 */
export async function inspectPackage(
  path: string,
  declared: { readonly package: string; readonly version: string },
  signal: AbortSignal,
): Promise<Rejection | undefined> {
  try {
    const zip = await open(path);
    try {
      const manifest = readManifest(await manifestOf(zip, signal));
      requireEqual('package', manifest.package, declared.package);
      requireEqual('version', manifest.versionName, declared.version);
    } finally {
      zip.close();
    }
    return undefined;
  } catch (error) {
    if (signal.aborted) throw error;
    if (error instanceof Unfit) return { rule: error.rule, reason: error.message };
    if (error instanceof ManifestError) return { rule: 'manifest', reason: error.message };
    // Errors of the file system carry a system call; any other error is caused by the package's content.
    if ((error as NodeJS.ErrnoException).syscall) throw error;
    const reason = `It is not a whole Android package: ${bounded((error as Error).message)}`;
    return { rule: 'not_whole', reason };
  }
}

function requireEqual(what: string, actual: string, declared: string): void {
  if (actual !== declared) {
    throw new Unfit(
      'other_name',
      `Its manifest's ${what} is ${bounded(actual)}, not ${declared} as was requested.`,
    );
  }
}

/** Makes text from an untrusted file short and printable. */
function bounded(text: string): string {
  const clean = text.replace(/[^\x20-\x7e]+/g, '?');
  return clean.length > 100 ? `${clean.slice(0, 100)}…` : clean;
}

/** Reads all entries; returns the manifest. */
async function manifestOf(zip: ZipFile, signal: AbortSignal): Promise<Buffer> {
  if (zip.entryCount > bounds.entries)
    throw new Unfit('bounds', `It has more than ${bounds.entries} entries.`);
  let unpacked = 0;
  let manifest: Buffer | undefined;
  for await (const entry of entries(zip)) {
    signal.throwIfAborted();
    unpacked += entry.uncompressedSize;
    const most = Math.min(bounds.unpackedBytes, Math.max(bounds.freeBytes, zip.fileSize * bounds.ratio));
    if (unpacked > most) throw new Unfit('bounds', `It unpacks to more than ${most} bytes.`);
    if (entry.isEncrypted()) throw new Unfit('not_whole', 'It has encrypted entries.');
    const isManifest = entry.fileName === manifestName;
    if (isManifest && manifest) throw new Unfit('manifest', `It has more than one ${manifestName}.`);
    if (isManifest && entry.uncompressedSize > bounds.manifestBytes) {
      throw new Unfit('bounds', `Its ${manifestName} is larger than ${bounds.manifestBytes} bytes.`);
    }
    const kept: Buffer[] = [];
    let checksum = 0;
    for await (const chunk of (await streamOf(zip, entry)) as AsyncIterable<Buffer>) {
      signal.throwIfAborted();
      checksum = crc32(chunk, checksum);
      if (isManifest) kept.push(chunk);
    }
    if (checksum !== entry.crc32)
      throw new Unfit('not_whole', `Its entry ${bounded(entry.fileName)} is broken.`);
    if (isManifest) manifest = Buffer.concat(kept);
  }
  if (!manifest) throw new Unfit('manifest', `It has no ${manifestName}.`);
  return manifest;
}

function open(path: string): Promise<ZipFile> {
  return new Promise((resolve, reject) => {
    // The caller closes it, because streams of it may be open when an entry turns out to be broken.
    openZip(path, { lazyEntries: true, autoClose: false }, (error, zip) =>
      error ? reject(error) : resolve(zip),
    );
  });
}

async function* entries(zip: ZipFile): AsyncGenerator<Entry> {
  for (;;) {
    const entry = await new Promise<Entry | undefined>((resolve, reject) => {
      const settle = (act: () => void) => {
        zip.off('entry', onEntry).off('end', onEnd).off('error', onError);
        act();
      };
      const onEntry = (found: Entry) => settle(() => resolve(found));
      const onEnd = () => settle(() => resolve(undefined));
      const onError = (error: Error) => settle(() => reject(error));
      zip.on('entry', onEntry).on('end', onEnd).on('error', onError);
      zip.readEntry();
    });
    if (!entry) return;
    yield entry;
  }
}

function streamOf(zip: ZipFile, entry: Entry): Promise<Readable> {
  return new Promise((resolve, reject) => {
    zip.openReadStream(entry, (error, stream) => (error ? reject(error) : resolve(stream)));
  });
}
