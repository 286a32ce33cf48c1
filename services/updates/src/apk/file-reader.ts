import { readSync } from 'node:fs';
import { Readable } from 'node:stream';
import { RandomAccessReader } from 'yauzl';

const chunkBytes = 64 * 1024;

/**
 * Reads an open file for yauzl. Offsets come from the file itself, and Node.js throws for an offset beyond 2^53.
 * yauzl's own reader does not catch this error, and the process would end. This reader reports the error. The caller
 * keeps the file descriptor.
 */
export class FileReader extends RandomAccessReader {
  readonly #fd: number;

  constructor(fd: number) {
    super();
    this.#fd = fd;
  }

  override read(
    buffer: Buffer,
    offset: number,
    length: number,
    position: number,
    callback: (error: Error | null, bytesRead?: number) => void,
  ): void {
    let bytesRead = 0;
    try {
      bytesRead = readSync(this.#fd, buffer, offset, length, position);
    } catch (error) {
      callback(error as Error);
      return;
    }
    callback(null, bytesRead);
  }

  override _readStreamForRange(start: number, end: number): Readable {
    const fd = this.#fd;
    let at = start;
    return new Readable({
      read() {
        try {
          const buffer = Buffer.allocUnsafe(Math.max(0, Math.min(chunkBytes, end - at)));
          const bytesRead = readSync(fd, buffer, 0, buffer.length, at);
          at += bytesRead;
          this.push(bytesRead === 0 ? null : buffer.subarray(0, bytesRead));
        } catch (error) {
          this.destroy(error as Error);
        }
      },
    });
  }
}
