import { readSync } from 'node:fs';
import { bounds, PackageRejectedError } from './bounds.ts';
import type { LocatedEntry } from './directory.ts';

/** Ids of the pairs in an APK Signing Block that contain a signature: schemes v2, v3 and v3.1. */
const schemes: ReadonlySet<number> = new Set([0x7109871a, 0xf05368c0, 0x1b93ad61]);
const magic = Buffer.from('APK Sig Block 42');
const footerBytes = 8 + magic.length;

/**
 * Checks that a package has a signature; no device installs an unsigned package. The signature may be of scheme v1
 * (files of META-INF) or of v2 and later (a block before the zip's directory). The signature itself is not verified:
 * the device verifies it, and the certificate is the developer's own. Throws
 * PackageRejectedError.
 */
export function requireSignature(
  fd: number,
  directoryOffset: number,
  entries: readonly LocatedEntry[],
): void {
  const contentEnd = Math.max(
    0,
    ...entries.map(({ dataStart, compressedSize }) => dataStart + compressedSize),
  );
  if (hasV1Signature(entries) || hasSigningBlock(fd, contentEnd, directoryOffset)) return;
  throw new PackageRejectedError(
    'not_signed',
    'It is not signed: it has neither a v1 signature in META-INF nor an APK Signing Block.',
  );
}

/** True if META-INF contains a signature file and a signature block with the same base name (scheme v1). */
function hasV1Signature(entries: readonly LocatedEntry[]): boolean {
  const names = new Set(entries.map(({ name }) => name.toUpperCase()));
  return [...names].some((name) => {
    const file = /^(META-INF\/[^/]+\.)SF$/.exec(name)?.[1];
    return file !== undefined && ['RSA', 'DSA', 'EC'].some((kind) => names.has(file + kind));
  });
}

/**
 * True if the file has an APK Signing Block with a signature (schemes v2 and later). The block lies between the content
 * of the last entry and the central directory. It consists of its size, pairs (length, id, value), its size again, and
 * the magic. Numbers are little-endian.
 */
function hasSigningBlock(fd: number, contentEnd: number, directoryOffset: number): boolean {
  const footer = read(fd, directoryOffset - footerBytes, footerBytes);
  if (!footer?.subarray(8).equals(magic)) return false;
  const size = Number(footer.readBigUInt64LE(0));
  if (size < footerBytes || size > bounds.signingBlockBytes) return false;
  if (directoryOffset - size - 8 < contentEnd) return false;
  const block = read(fd, directoryOffset - size - 8, size + 8 - footerBytes);
  if (!block || Number(block.readBigUInt64LE(0)) !== size) return false;
  for (let at = 8; at + 12 <= block.length; ) {
    const length = Number(block.readBigUInt64LE(at));
    if (length < 4 || at + 8 + length > block.length) return false;
    if (schemes.has(block.readUInt32LE(at + 8)) && length > 4) return true;
    at += 8 + length;
  }
  return false;
}

/** Reads bytes of the file; undefined if the range lies outside the file. */
function read(fd: number, position: number, length: number): Buffer | undefined {
  if (position < 0) return undefined;
  const buffer = Buffer.alloc(length);
  return readSync(fd, buffer, 0, length, position) === length ? buffer : undefined;
}
