import { readSync } from 'node:fs';
import { Readable } from 'node:stream';
import { RandomAccessReader } from 'yauzl';

const chunkBytes = 64 * 1024;

/**
 * Reads an open file for yauzl. Offsets come from the file itself, so each is compared with the file's size
 * here: yauzl's own reader passes them on to Node.js, which throws for an offset beyond 2^53, and that ends
 * the process. The caller keeps the file descriptor.
 */
export class FileReader extends RandomAccessReader {
  readonly #fd: number;
  readonly #size: number;

  constructor(fd: number, size: number) {
    super();
    this.#fd = fd;
    this.#size = size;
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
      this.#require(position, position + length);
      bytesRead = readSync(this.#fd, buffer, offset, length, position);
    } catch (error) {
      callback(error as Error);
      return;
    }
    callback(null, bytesRead);
  }

  override _readStreamForRange(start: number, end: number): Readable {
    let at = start;
    const next = (): Buffer | null => {
      this.#require(start, end);
      if (at === end) return null;
      const buffer = Buffer.allocUnsafe(Math.min(chunkBytes, end - at));
      const bytesRead = readSync(this.#fd, buffer, 0, buffer.length, at);
      at += bytesRead;
      return bytesRead === 0 ? null : buffer.subarray(0, bytesRead);
    };
    return new Readable({
      read() {
        try {
          this.push(next());
        } catch (error) {
          this.destroy(error as Error);
        }
      },
    });
  }

  #require(start: number, end: number): void {
    if (!(start >= 0 && start <= end && end <= this.#size)) {
      throw new Error('it refers to bytes beyond its end');
    }
  }
}
