import { createHash, randomBytes } from 'node:crypto';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { verifyCallback } from '../integrator/verify.ts';

/** A stored PUT. */
export interface StoredPart {
  readonly file: string;
  readonly uploadId: string;
  /** Part number from 1; 0: the whole file. */
  readonly partNumber: number;
  readonly bytes: number;
  /** SHA-256 of the content, hexadecimal. */
  readonly sha256: string;
  readonly tag: string;
}

/**
 * A fault of a PUT. An object: this answer, and nothing is stored. `hang`: no answer. `cut`: the connection is closed.
 * `no-tag`: stored, but answered without an ETag. `drip`: the body is read slowly.
 */
export type PutFault =
  | { status: number; headers?: Record<string, string> }
  | 'hang'
  | 'cut'
  | 'no-tag'
  | 'drip';

/** Called for each PUT before its body is read. */
export type PutFaultInjector = (put: {
  file: string;
  uploadId: string;
  partNumber: number;
}) => PutFault | undefined;

// biome-ignore lint/suspicious/noExplicitAny: the request's shape is what is tested
type SignedUrlsBody = any;

/** A received request for signed URLs. */
export interface UrlRequest {
  readonly path: string;
  readonly applicationId: string;
  /** Whether the signature matches one of `keys`. */
  readonly verified: boolean;
  readonly body: SignedUrlsBody;
}

/**
 * The integrator's object storage with signed URLs, like S3: the answer to a PUT has an ETag. POST on any path issues
 * signed URLs.
 */
export interface Storage {
  readonly origin: string;
  readonly requests: readonly UrlRequest[];
  /** Accepted authentication keys. */
  readonly keys: string[];
  /** Replaces the answers to requests for URLs. */
  answer: ((response: ServerResponse, body: SignedUrlsBody) => void) | undefined;
  readonly stored: readonly StoredPart[];
  /** Signatures that are no longer accepted. */
  readonly expired: Set<string>;
  /** Injects faults. */
  trouble: PutFaultInjector | undefined;
  /** Called if a sender disconnects before its complete body has arrived, with the same object as `trouble`. */
  onCutOff: ((put: { file: string; uploadId: string; partNumber: number }) => void) | undefined;
  /** Builds the integrator's answer to a request for signed URLs. Each call begins new uploads. */
  sign(body: SignedUrlsBody): Record<string, unknown>;
  close(): Promise<void>;
}

export async function startStorage(): Promise<Storage> {
  const stored: StoredPart[] = [];
  const expired = new Set<string>();
  const requests: UrlRequest[] = [];

  const issue = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const pieces: Buffer[] = [];
    for await (const piece of request) pieces.push(piece as Buffer);
    const rawBody = Buffer.concat(pieces);
    const body = JSON.parse(rawBody.toString());
    requests.push({
      path: request.url ?? '',
      applicationId: String(request.headers['applicationid']),
      verified: verifyCallback({ headers: request.headers, rawBody }, storage.keys),
      body,
    });
    if (storage.answer) return storage.answer(response, body);
    response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(storage.sign(body)));
  };
  const receive = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const url = new URL(request.url ?? '/', 'http://storage');
    const put = {
      file: decodeURIComponent(url.pathname.slice(1)),
      uploadId: url.searchParams.get('uploadId') ?? '',
      partNumber: Number(url.searchParams.get('partNumber') ?? 0),
    };
    const trouble = storage.trouble?.(put);
    if (trouble === 'hang') return;
    if (trouble === 'cut') {
      request.socket.destroy();
      return;
    }
    if (typeof trouble === 'object') {
      request.resume();
      response.writeHead(trouble.status, trouble.headers).end();
      return;
    }
    if (request.method !== 'PUT' || expired.has(url.searchParams.get('signature') ?? '')) {
      request.resume();
      response.writeHead(403).end();
      return;
    }
    const [md5, sha256] = [createHash('md5'), createHash('sha256')];
    let bytes = 0;
    try {
      for await (const piece of request) {
        if (trouble === 'drip') await sleep(100);
        md5.update(piece as Buffer);
        sha256.update(piece as Buffer);
        bytes += (piece as Buffer).length;
      }
    } catch {
      storage.onCutOff?.(put);
      return;
    }
    if (bytes !== Number(request.headers['content-length'])) return;
    const tag = `"${md5.digest('hex')}"`;
    stored.push({ ...put, bytes, sha256: sha256.digest('hex'), tag });
    response.writeHead(200, trouble === 'no-tag' ? {} : { etag: tag }).end();
  };
  const server = createServer((request, response) => {
    void (request.method === 'POST' ? issue : receive)(request, response);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const signed = (file: string, query: Record<string, string>): string =>
    `${origin}/${encodeURIComponent(file)}?${new URLSearchParams({
      ...query,
      signature: randomBytes(8).toString('hex'),
    })}`;

  const storage: Storage = {
    ...{
      origin,
      stored,
      expired,
      requests,
      keys: [],
      trouble: undefined,
      onCutOff: undefined,
      answer: undefined,
    },
    sign({ channel }) {
      const answer: Record<string, unknown> = { [channel.metaFile]: signed(channel.metaFile, {}) };
      for (const { jsonFile, webmFile } of channel.connections) {
        answer[jsonFile] = signed(jsonFile, {});
        if (typeof webmFile === 'string') {
          answer[webmFile] = signed(webmFile, {});
          continue;
        }
        const uploadId = randomBytes(8).toString('hex');
        const parts = Array.from({ length: webmFile.splitted }, (_, i) =>
          signed(webmFile.file, { uploadId, partNumber: String(i + 1) }),
        );
        answer[webmFile.file] = { uploadId, parts };
      }
      return answer;
    },
    async close() {
      server.closeAllConnections();
      await new Promise<void>((resolve) => server.close(() => resolve()));
    },
  };
  return storage;
}

/** Returns the signatures in an answer, for a test that lets them expire. */
export function signaturesOf(answer: Record<string, unknown>): string[] {
  const urls = Object.values(answer).flatMap((one) =>
    typeof one === 'string' ? [one] : (one as { parts: string[] }).parts,
  );
  return urls.map((url) => new URL(url).searchParams.get('signature') ?? '');
}
