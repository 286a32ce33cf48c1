import { pipeline, Readable } from 'node:stream';
import { listen } from '../baselines/http.ts';
import { archivePiece, archiveSize } from '../lib/archive-bytes.ts';
import { serveCommands } from '../lib/worker.ts';

/** Sora's archive folder over HTTP: files of any name, made as they are read; HEAD, GET, one range. */
const pieceBytes = 256 * 1024;

function* pieces(from: number, length: number): Generator<Buffer> {
  for (let at = 0; at < length; ) {
    const piece = archivePiece(from + at, Math.min(pieceBytes, length - at));
    at += piece.length;
    yield piece;
  }
}

const commands = {
  /** Serves webm files of that size; returns the folder's address. */
  start: async (o: { webmBytes: number }): Promise<string> => {
    const origin = await listen((request, response) => {
      const bytes = archiveSize(request.url ?? '', o.webmBytes);
      const range = /^bytes=(\d+)-(\d+)$/.exec(request.headers.range ?? '');
      const from = Number(range?.[1] ?? 0);
      const last = Math.min(Number(range?.[2] ?? bytes - 1), bytes - 1);
      response.writeHead(range ? 206 : 200, {
        'accept-ranges': 'bytes',
        'content-length': last - from + 1,
        ...(range && { 'content-range': `bytes ${from}-${last}/${bytes}` }),
      });
      if (request.method === 'HEAD') response.end();
      // Stops producing bytes when the reader disconnects.
      else pipeline(Readable.from(pieces(from, last - from + 1)), response, () => {});
    });
    return `${origin}/archive`;
  },
};
export type ArchiveSource = typeof commands;
serveCommands(commands);
