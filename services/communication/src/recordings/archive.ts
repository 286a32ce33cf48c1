import { failureReason } from '@headset-cloud/outbound/reason.ts';
import type { Time } from '@headset-cloud/runtime/clock.ts';
import type { Agent, Dispatcher } from 'undici';
import type { ArchiveReader } from '../ports/archive-reader.ts';
import { orAborted, watchStalls } from './stall.ts';

/** Address of an archived file: `<recording id>/<file name>` below the endpoint's archive_url. */
export function archiveAddress(archiveUrl: string, file: string): URL {
  return new URL(`${archiveUrl.replace(/\/+$/, '')}/${file.split('/').map(encodeURIComponent).join('/')}`);
}

/** Name of the archive's server, for operators. */
export function archiveName(archiveUrl: string): string {
  return `the archive at ${new URL(archiveUrl).host}`;
}

/** True if the server answers that the file does not exist. */
export function isMissing({ statusCode }: Dispatcher.ResponseData): boolean {
  return statusCode === 404 || statusCode === 410;
}

/** Reads sizes of archived files by HEAD. The server is the operator's own, so its address is not restricted. */
export function createArchiveReader(agent: Agent, stallMs: number, time?: Time): ArchiveReader {
  return {
    async size(archiveUrl, file, signal) {
      const { origin, pathname, search } = archiveAddress(archiveUrl, file);
      const watch = watchStalls(stallMs, signal, undefined, time);
      try {
        const answer = await orAborted(
          agent.request({ origin, path: pathname + search, method: 'HEAD', signal: watch.signal }),
          watch.signal,
        );
        await answer.body.dump();
        if (isMissing(answer)) return 'missing';
        const bytes = Number(answer.headers['content-length']);
        if (answer.statusCode !== 200 || !Number.isSafeInteger(bytes) || bytes < 0) {
          throw new Error(`it answered ${answer.statusCode} about ${file}, or no size`);
        }
        return { bytes };
      } catch (cause) {
        throw new Error(`${archiveName(archiveUrl)}: ${failureReason(cause)}`, { cause });
      } finally {
        watch.stop();
      }
    },
  };
}
