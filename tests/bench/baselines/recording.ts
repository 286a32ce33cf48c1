import { Agent } from 'undici';
import { archiveSize } from '../lib/archive-bytes.ts';
import { serveCommands } from '../lib/worker.ts';

/**
 * Baseline of the recording measure: a bare multipart upload. The parts are uploaded one after the other: each
 * is a range that is read from the archive and streamed into a PUT, without intermediate storage.
 */
const archives = new Agent();
const storage = new Agent();

const commands = {
  /** Returns the duration in milliseconds. */
  upload: async (o: {
    archiveUrl: string;
    file: string;
    webmBytes: number;
    partBytes: number;
    urls: readonly string[];
  }): Promise<number> => {
    const began = performance.now();
    const { origin, pathname } = new URL(`${o.archiveUrl}/${o.file}`);
    const bytes = archiveSize(o.file, o.webmBytes);
    for (const [part, url] of o.urls.entries()) {
      const from = part * o.partBytes;
      const length = Math.min(o.partBytes, bytes - from);
      const range = `bytes=${from}-${from + length - 1}`;
      const source = await archives.request({ origin, path: pathname, method: 'GET', headers: { range } });
      if (source.statusCode !== 206) throw new Error(`the archive answered ${source.statusCode}`);
      const to = new URL(url);
      const answer = await storage.request({
        origin: to.origin,
        path: to.pathname + to.search,
        method: 'PUT',
        headers: { 'content-length': String(length) },
        body: source.body,
      });
      await answer.body.dump();
      if (answer.statusCode !== 200) throw new Error(`the storage answered ${answer.statusCode}`);
    }
    return performance.now() - began;
  },
};
export type RecordingBaseline = typeof commands;
serveCommands(commands);
