import { pipeline, type Readable } from 'node:stream';
import { RefusedAddressError } from '@headset-cloud/outbound/connector.ts';
import { failureReason } from '@headset-cloud/outbound/reason.ts';
import { cut } from '@headset-cloud/runtime/characters.ts';
import type { Time } from '@headset-cloud/runtime/clock.ts';
import type { Agent, Dispatcher } from 'undici';
import type { Uploader, UploadResult } from '../ports/uploader.ts';
import { archiveAddress, archiveName, isMissing } from './archive.ts';
import { orAborted, type StallWatch, watchStalls } from './stall.ts';

/** Limit of a storage's response, of which only status and ETag are used. */
const answerLimitBytes = 64 * 1024;
const maxTagLength = 1024;
/** Status codes of transient failures. Any other 4xx, and a redirect, means that the storage rejects the URL. */
const transientCodes = [408, 425, 429];

type Source = Parameters<Uploader['upload']>[0];

/**
 * Streams ranges of archives to signed URLs. Bytes flow from one socket to the other with backpressure, so an upload of
 * any size needs a few hundred KiB of memory. `storage` connects to integrators' hosts and must apply the address
 * rules; `archives` connects to the operator's own host.
 */
export function createUploader(options: {
  archives: Agent;
  storage: Agent;
  stallMs: number;
  /** Lowest allowed rate; bytes per second. */
  minRate: number;
  time?: Time;
}): Uploader {
  const { archives, storage, stallMs, minRate, time } = options;

  /** Returns a stream of the archive's bytes, or the outcome if they cannot be read. */
  async function openSource(from: Source, watch: StallWatch): Promise<Readable | UploadResult> {
    const { origin, pathname, search } = archiveAddress(from.archiveUrl, from.file);
    const last = from.offset + from.bytes - 1;
    const answer = await orAborted(
      archives.request({
        ...{ origin, path: pathname + search, method: 'GET', signal: watch.signal },
        headers: from.whole ? {} : { range: `bytes=${from.offset}-${last}` },
      }),
      watch.signal,
    );
    if (isMissing(answer)) return unreadable(from, answer, 'missing');
    const range = String(answer.headers['content-range'] ?? '');
    const isExpected = from.whole
      ? answer.statusCode === 200
      : answer.statusCode === 206 && range.startsWith(`bytes ${from.offset}-${last}/`);
    return isExpected ? answer.body : unreadable(from, answer, 'failed');
  }

  function unreadable(
    from: Source,
    answer: Dispatcher.ResponseData,
    outcome: 'missing' | 'failed',
  ): UploadResult {
    answer.body.destroy();
    answer.body.on('error', () => {});
    return { outcome, reason: `${archiveName(from.archiveUrl)} answered ${answer.statusCode}` };
  }

  async function put(
    from: Source,
    source: Readable | null,
    to: URL,
    watch: StallWatch,
  ): Promise<UploadResult> {
    // pipeline connects both ends: a broken archive connection ends the upload, and the end of the upload closes the
    // archive connection.
    const body = source && pipeline(source, watch.meter(), () => {});
    try {
      const answer = await orAborted(
        storage.request({
          ...{ origin: to.origin, path: to.pathname + to.search, method: 'PUT', body },
          headers: { 'content-length': String(from.bytes) },
          signal: watch.signal,
        }),
        watch.signal,
      );
      await answer.body.dump({ limit: answerLimitBytes, signal: watch.signal }).catch(() => {});
      return resultOf(to.host, answer, from.whole);
    } finally {
      body?.destroy();
    }
  }

  return {
    async upload(from, to, signal) {
      const totalMs = 2 * stallMs + Math.ceil((from.bytes / minRate) * 1000);
      const watch = watchStalls(stallMs, signal, totalMs, time);
      let location = archiveName(from.archiveUrl);
      try {
        const storage = new URL(to);
        const source = from.bytes === 0 ? null : await openSource(from, watch);
        if (source && 'outcome' in source) return source;
        // From here on either side may stall, because bytes are sent to the storage as they arrive from the archive.
        location = `the storage at ${storage.host}, from ${location}`;
        return await put(from, source, storage, watch);
      } catch (error) {
        const outcome = error instanceof RefusedAddressError ? 'forbidden' : 'failed';
        return { outcome, reason: cut(`${location}: ${failureReason(error)}`, 200) };
      } finally {
        watch.stop();
      }
    },
    async close() {
      await Promise.all([archives.destroy(), storage.destroy()]);
    },
  };
}

function resultOf(
  host: string,
  { statusCode, headers }: Dispatcher.ResponseData,
  whole: boolean,
): UploadResult {
  const reason = `the storage at ${host} answered ${statusCode}`;
  if (statusCode >= 200 && statusCode < 300) {
    const tag = String(headers['etag'] ?? '');
    // The tags of all parts are needed to complete a multipart upload.
    if (whole || (tag !== '' && tag.length <= maxTagLength)) return { outcome: 'stored', tag };
    return { outcome: 'failed', reason: `${reason} without a usable ETag` };
  }
  const refused = statusCode >= 300 && statusCode < 500 && !transientCodes.includes(statusCode);
  return { outcome: refused ? 'refused' : 'failed', reason };
}
