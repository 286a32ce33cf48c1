import { createHash } from 'node:crypto';

/**
 * The content of archived files in the recording measure: one repeated block, whose length divides no part
 * length, so that bytes of another position do not compare equal. The block is made once, so producing and
 * checking bytes costs no more than reading memory.
 */
const block = createHash('shake256', { outputLength: 1024 * 1024 + 4093 })
  .update('archive')
  .digest();

/** At most `length` bytes of a file from a position on; fewer if the block ends. */
export function archivePiece(from: number, length: number): Buffer {
  const start = from % block.length;
  return block.subarray(start, Math.min(block.length, start + length));
}

/** True when `bytes` equal the file's bytes from that position on. */
export function isArchived(from: number, bytes: Buffer): boolean {
  let at = 0;
  while (at < bytes.length) {
    const piece = archivePiece(from + at, bytes.length - at);
    if (piece.compare(bytes, at, at + piece.length) !== 0) return false;
    at += piece.length;
  }
  return true;
}

/** Size of a file by its name: the webm is large, everything else small. */
export function archiveSize(file: string, webmBytes: number): number {
  return file.endsWith('.webm') ? webmBytes : 300;
}
