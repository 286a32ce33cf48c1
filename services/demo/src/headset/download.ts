import { open, stat, truncate } from 'node:fs/promises';
import type { GetOptions, Http } from './http.ts';

/**
 * The end of a download. `whole`: all bytes are loaded. `cut`: bytes are missing, and the download can be resumed.
 * `refused`: the URL is invalid or has expired. `wrong`: the URL serves a different file.
 */
export type LoadEnd = 'whole' | 'cut' | 'refused' | 'wrong';

export interface LoadOptions {
  readonly http: Http;
  readonly url: string;
  /** The target file. Bytes in this file are not loaded again. */
  readonly path: string;
  /** Size of the complete file; bytes. */
  readonly sizeBytes: number;
  readonly signal: AbortSignal;
  /** Called with the number of bytes that are loaded so far. */
  onBytes(bytes: number): void;
}

/** A download without new bytes for this long is interrupted; milliseconds. */
const stallMs = 30_000;
const maxRedirects = 5;

/** Returns the size of a file, 0 if it does not exist; bytes. */
export async function sizeOf(path: string): Promise<number> {
  try {
    return (await stat(path)).size;
  } catch (error) {
    if ((error as { code?: string }).code === 'ENOENT') return 0;
    throw error;
  }
}

/** Loads the missing bytes of a file. Throws only if `signal` is aborted or the disk fails. */
export async function load(options: LoadOptions): Promise<LoadEnd> {
  const { http, url, path, sizeBytes, signal } = options;
  let have = await sizeOf(path);
  if (have >= sizeBytes) return have === sizeBytes ? 'whole' : 'wrong';
  if (!URL.canParse(url)) return 'refused';
  const stalled = new AbortController();
  const watch = setTimeout(() => stalled.abort(), stallMs);
  const file = await open(path, 'a');
  try {
    const response = await follow(http, url, {
      headers: { 'accept-encoding': 'identity', ...(have > 0 && { range: `bytes=${have}-` }) },
      signal: AbortSignal.any([signal, stalled.signal]),
    });
    if (!response) return 'refused';
    const ended = endOf(response, have, sizeBytes);
    if (ended !== 'read') return ended;
    if (response.status === 200 && have > 0) {
      await truncate(path, 0);
      have = 0;
    }
    for await (const chunk of response.body ?? []) {
      watch.refresh();
      await file.appendFile(chunk);
      have += chunk.length;
      if (have > sizeBytes) return 'wrong';
      options.onBytes(have);
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

/** Follows redirects with the same headers. Returns undefined after too many redirects or an unsafe one. */
async function follow(http: Http, url: string, options: GetOptions): Promise<Response | undefined> {
  let at = url;
  for (let redirects = 0; redirects <= maxRedirects; redirects++) {
    const response = await http.get(at, options);
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

/** Decides by status and headers. `read`: the body is the file, or the requested rest of the file. */
function endOf({ status, headers }: Response, have: number, sizeBytes: number): LoadEnd | 'read' {
  if (status === 206) {
    const [, start, total] = /^bytes (\d+)-\d+\/(\d+|\*)$/.exec(headers.get('content-range') ?? '') ?? [];
    return Number(start) === have && (total === '*' || Number(total) === sizeBytes) ? 'read' : 'wrong';
  }
  if (status === 200) {
    const length = headers.get('content-length');
    return length === null || Number(length) === sizeBytes ? 'read' : 'wrong';
  }
  if (status === 416) return 'wrong';
  // A 204, 300 or 304, or a redirect without a location, does not serve the file either.
  return status < 500 && status !== 408 && status !== 429 ? 'refused' : 'cut';
}
