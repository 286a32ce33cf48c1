import { open, stat, truncate } from 'node:fs/promises';
import { setTimeout as sleep } from 'node:timers/promises';

/**
 * How a download ended. `whole`: all bytes are there. `cut`: some bytes are missing, and it can be resumed.
 * `refused`: the URL is not valid (any more). `wrong`: the URL serves another file.
 */
export type LoadEnd = 'whole' | 'cut' | 'refused' | 'wrong';

export interface LoadOptions {
  readonly url: string;
  /** The target file; bytes that are there already are not loaded again. */
  readonly path: string;
  /** Size of the whole file; bytes. */
  readonly sizeBytes: number;
  readonly signal: AbortSignal;
  /** Called with the number of bytes that are there. Returns false to interrupt the download. */
  onBytes(bytes: number): boolean;
  /** A header that no load needs. */
  readonly authorization?: string | undefined;
  /** For a headset that breaks the rules: appends a whole file as if it were the requested range. */
  readonly appendsWhole?: boolean;
  readonly followsNoRedirect?: boolean;
  readonly followsEndlessly?: boolean;
  readonly refusedBy429?: boolean;
  /** The current download rate; bytes per second, 0: unlimited. */
  bytesPerSecond(): number;
}

/** A download that is idle for this long is interrupted; milliseconds. */
const stallMs = 30_000;
const mostRedirects = 5;

/** The size of a file; 0 when there is none. */
export async function sizeOf(path: string): Promise<number> {
  try {
    return (await stat(path)).size;
  } catch (error) {
    if ((error as { code?: string }).code === 'ENOENT') return 0;
    throw error;
  }
}

/** Loads the missing bytes of a file. Throws only when `signal` is aborted, or the disk fails. */
export async function load(options: LoadOptions): Promise<LoadEnd> {
  const { url, path, sizeBytes, signal } = options;
  let have = await sizeOf(path);
  if (have >= sizeBytes) return have === sizeBytes ? 'whole' : 'wrong';
  if (!URL.canParse(url)) return 'refused';
  const stalled = new AbortController();
  const watch = setTimeout(() => stalled.abort(), stallMs);
  const file = await open(path, 'a');
  try {
    const most = options.followsEndlessly ? Number.POSITIVE_INFINITY : mostRedirects;
    const response = await follow(url, options.followsNoRedirect ? 0 : most, {
      headers: {
        'accept-encoding': 'identity',
        ...(have > 0 && { range: `bytes=${have}-` }),
        ...(options.authorization !== undefined && { authorization: options.authorization }),
      },
      signal: AbortSignal.any([signal, stalled.signal]),
    });
    if (!response) return 'refused';
    const judged = judge(response, have, sizeBytes);
    if (response.status === 429 && options.refusedBy429) return 'refused';
    if (judged !== 'read') return judged;
    if (response.status === 200 && have > 0 && !options.appendsWhole) {
      await truncate(path, 0);
      have = 0;
    }
    for await (const chunk of response.body ?? []) {
      watch.refresh();
      await file.appendFile(chunk);
      have += chunk.length;
      if (have > sizeBytes) return 'wrong';
      if (!options.onBytes(have)) return 'cut';
      const speed = options.bytesPerSecond();
      if (speed > 0) await sleep((chunk.length / speed) * 1000, undefined, { signal });
    }
    return have === sizeBytes ? 'whole' : 'cut';
  } catch (error) {
    if (signal.aborted) throw error;
    return 'cut';
  } finally {
    clearTimeout(watch);
    // Aborts the response if it was not read to its end.
    stalled.abort();
    await file.close();
  }
}

/**
 * The response after at most `most` redirects, each of which keeps the headers; undefined after more or
 * unsafe ones.
 */
async function follow(url: string, most: number, init: RequestInit): Promise<Response | undefined> {
  let at = url;
  for (let redirects = 0; redirects <= most; redirects++) {
    const response = await fetch(at, { ...init, redirect: 'manual' });
    const location = response.headers.get('location');
    if (![301, 302, 303, 307, 308].includes(response.status) || location === null) return response;
    await response.body?.cancel();
    if (!URL.canParse(location, at)) return undefined;
    const next = new URL(location, at);
    if (!/^https?:$/.test(next.protocol) || (at.startsWith('https:') && next.protocol === 'http:')) {
      return undefined;
    }
    at = next.href;
  }
  return undefined;
}

function judge({ status, headers }: Response, have: number, sizeBytes: number): LoadEnd | 'read' {
  if (status === 206) {
    const [, start, total] = /^bytes (\d+)-\d+\/(\d+|\*)$/.exec(headers.get('content-range') ?? '') ?? [];
    return Number(start) === have && (total === '*' || Number(total) === sizeBytes) ? 'read' : 'wrong';
  }
  if (status === 200) {
    const length = headers.get('content-length');
    return length === null || Number(length) === sizeBytes ? 'read' : 'wrong';
  }
  if (status === 416) return 'wrong';
  // A 204, 300 or 304, or a redirect to nowhere, does not serve the file either.
  return status < 500 && status !== 408 && status !== 429 ? 'refused' : 'cut';
}
