import { request as overHttp } from 'node:http';
import { request as overHttps } from 'node:https';

/** How a file is put to an address. */
export interface PutOptions {
  readonly signal: AbortSignal;
  /** The PUT fails when no byte moves in either direction for this long; milliseconds, 0: never. */
  readonly idleMs: number;
  /** For a headset that breaks the rules. */
  readonly contentType?: string | undefined;
}

/** The answer to a PUT. */
export interface PutAnswer {
  readonly status: number;
  readonly location: string | undefined;
}

/**
 * Puts the bytes to the address; follows no redirect. There is no limit to the whole time. Throws when the
 * connection fails, nothing moves for `idleMs`, or `signal` is aborted.
 */
export async function put(url: string, bytes: Uint8Array, options: PutOptions): Promise<PutAnswer> {
  const { signal, idleMs, contentType } = options;
  signal.throwIfAborted();
  return await new Promise((resolve, reject) => {
    const open = url.startsWith('https:') ? overHttps : overHttp;
    const headers = {
      'content-length': bytes.length,
      ...(contentType !== undefined && { 'content-type': contentType }),
    };
    const request = open(url, { method: 'PUT', headers, signal });
    request.setTimeout(idleMs, () => request.destroy(new Error(`nothing moved for ${idleMs} ms`)));
    request.on('error', reject);
    request.on('response', (response) => {
      response.on('error', () => {});
      response.resume();
      resolve({ status: response.statusCode ?? 0, location: response.headers.location });
    });
    request.end(bytes);
  });
}
