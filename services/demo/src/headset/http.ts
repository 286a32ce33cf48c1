import { request as overHttp } from 'node:http';
import { request as overHttps } from 'node:https';

export interface GetOptions {
  readonly headers: Readonly<Record<string, string>>;
  readonly signal: AbortSignal;
}

export interface PutOptions {
  readonly signal: AbortSignal;
  /** The PUT fails if no byte moves in either direction for this long; milliseconds. */
  readonly idleMs: number;
}

/** The headset's HTTP client for updates and uploads. It does not follow redirects. */
export interface Http {
  get(url: string, options: GetOptions): Promise<Response>;
  /**
   * Returns the status. The total duration is not limited. Throws if the connection fails, no byte moves for `idleMs`,
   * or `signal` is aborted.
   */
  put(url: string, bytes: Uint8Array, options: PutOptions): Promise<number>;
}

export const http: Http = {
  get: (url, options) => fetch(url, { ...options, redirect: 'manual' }),
  put: (url, bytes, { signal, idleMs }) =>
    new Promise((resolve, reject) => {
      signal.throwIfAborted();
      const open = url.startsWith('https:') ? overHttps : overHttp;
      const headers = { 'content-length': bytes.length };
      const request = open(url, { method: 'PUT', headers, signal });
      request.setTimeout(idleMs, () => request.destroy(new Error(`nothing moved for ${idleMs} ms`)));
      request.on('error', reject);
      request.on('response', (response) => {
        response.on('error', () => {});
        response.resume();
        resolve(response.statusCode ?? 0);
      });
      request.end(bytes);
    }),
};
