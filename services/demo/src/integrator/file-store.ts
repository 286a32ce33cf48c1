import { createServer, type IncomingHttpHeaders, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { addressText } from '@headset-cloud/runtime/config.ts';
import { verifyCallback } from './verify.ts';

/** A received request for a signed URL. */
export interface UrlRequest {
  readonly headers: IncomingHttpHeaders;
  /** Names of the headers, in their original case. */
  readonly headerNames: readonly string[];
  /** Whether the signature matches one of `keys`. */
  readonly verified: boolean;
  // biome-ignore lint/suspicious/noExplicitAny: requests of every shape
  readonly body: any;
}

/** An integrator's endpoint for signed URLs, with the store behind the URLs. */
export interface FileStore {
  /** URL for the setting `fileUploadGetUrl`. */
  readonly signUrl: string;
  readonly requests: readonly UrlRequest[];
  /** Uploaded files by their signed path. */
  readonly files: ReadonlyMap<string, Buffer>;
  /** Accepted authentication keys. */
  readonly keys: string[];
  /** Replaces the answers to requests for URLs. */
  answer: ((response: ServerResponse) => void) | undefined;
  /** Status of the answers to uploads. */
  storeStatus: number;
  close(): Promise<void>;
}

export async function startFileStore(host = '127.0.0.1'): Promise<FileStore> {
  const requests: UrlRequest[] = [];
  const files = new Map<string, Buffer>();
  const server = createServer(async (request, response) => {
    const parts: Buffer[] = [];
    for await (const part of request) parts.push(part as Buffer);
    const bytes = Buffer.concat(parts);
    const { pathname, searchParams } = new URL(request.url ?? '/', store.signUrl);
    if (request.method === 'PUT') {
      if (store.storeStatus === 200) files.set(searchParams.get('file') ?? '', bytes);
      response.writeHead(store.storeStatus).end();
      return;
    }
    const verified = verifyCallback({ headers: request.headers, rawBody: bytes }, store.keys);
    const body = JSON.parse(bytes.toString());
    const headerNames = request.rawHeaders.filter((_, i) => i % 2 === 0);
    requests.push({ headers: request.headers, headerNames, verified, body });
    if (store.answer) {
      store.answer(response);
      return;
    }
    const url = new URL(`/files?file=${encodeURIComponent(body.file)}`, store.signUrl).href;
    const status = pathname === '/sign' ? 200 : 404;
    response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify({ url }));
  });
  await new Promise<void>((resolve) => server.listen(0, host, resolve));
  const { port } = server.address() as AddressInfo;
  const store: FileStore = {
    signUrl: `http://${addressText({ host, port })}/sign`,
    requests,
    files,
    keys: [],
    answer: undefined,
    storeStatus: 200,
    async close() {
      await new Promise<void>((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      });
    },
  };
  return store;
}
