import { createHash } from 'node:crypto';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { Readable } from 'node:stream';

/**
 * Returns bytes of an archived file. The bytes depend on the file name and the position, so that a test detects any
 * mix-up.
 */
export function archiveBytes(file: string, from: number, length: number): Buffer {
  const seed = createHash('sha256').update(file).digest();
  const bytes = Buffer.allocUnsafe(length);
  for (let i = 0; i < length; i += 1) {
    const at = from + i;
    bytes[i] = (seed[at & 31] as number) ^ ((at >>> 5) & 0xff) ^ ((at >>> 13) & 0xff);
  }
  return bytes;
}

/** One answered request for an archive's bytes. */
export interface ArchiveRead {
  readonly method: string;
  readonly file: string;
  readonly from: number;
  readonly length: number;
}

/** Sora's archive folder on an HTTP server: HEAD and GET with one range. A test can make requests fail. */
export class Archives {
  readonly #files = new Map<string, number>();
  readonly reads: ArchiveRead[] = [];
  /** Number of coming responses that are cut in the middle. */
  cuts = 0;
  /** Number of coming requests that are answered with 503. */
  outages = 0;
  /** If set, responses wait for this promise before their first byte. */
  gate: Promise<void> | undefined;

  add(file: string, bytes: number): void {
    this.#files.set(file, bytes);
  }

  remove(file: string): void {
    this.#files.delete(file);
  }

  async serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const file = decodeURIComponent((request.url ?? '').replace(/^\/archive\//, ''));
    const bytes = this.#files.get(file);
    if (this.outages > 0) {
      this.outages -= 1;
      response.writeHead(503).end();
      return;
    }
    if (bytes === undefined) {
      response.writeHead(404).end();
      return;
    }
    const range = /^bytes=(\d+)-(\d*)$/.exec(request.headers.range ?? '');
    const from = range ? Number(range[1]) : 0;
    const last = range?.[2] ? Math.min(Number(range[2]), bytes - 1) : bytes - 1;
    const length = last - from + 1;
    this.reads.push({ method: request.method ?? '', file, from, length });
    response.writeHead(range ? 206 : 200, {
      'accept-ranges': 'bytes',
      'content-length': length,
      ...(range && { 'content-range': `bytes ${from}-${last}/${bytes}` }),
    });
    if (request.method === 'HEAD' || length === 0) {
      response.end();
      return;
    }
    let upTo = length;
    if (this.cuts > 0) {
      this.cuts -= 1;
      upTo = Math.floor(length / 2);
    }
    await this.gate;
    Readable.from(pieces(file, from, upTo))
      .on('end', () => {
        if (upTo < length) response.destroy();
      })
      .on('error', () => response.destroy())
      .pipe(response, { end: upTo === length });
  }
}

function* pieces(file: string, from: number, length: number): Generator<Buffer> {
  const piece = 256 * 1024;
  for (let at = 0; at < length; at += piece) {
    yield archiveBytes(file, from + at, Math.min(piece, length - at));
  }
}
