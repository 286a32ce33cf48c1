import { createHash } from 'node:crypto';

/**
 * What archived files of the recording measure hold: one block over and over, whose length divides no
 * part's, so that bytes of another place do not compare equal. Made once: neither making nor checking
 * them costs more than a look at memory.
 */
const block = createHash('shake256', { outputLength: 1024 * 1024 + 4093 })
  .update('archive')
  .digest();

/** At most `length` bytes of a file from a place on; fewer where the block ends. */
export function archivePiece(from: number, length: number): Buffer {
  const start = from % block.length;
  return block.subarray(start, Math.min(block.length, start + length));
}

/** True when `bytes` are what the file holds from that place on. */
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
