import { createReadStream } from 'node:fs';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { pipeline } from 'node:stream/promises';
import type { Clock } from '@headset-cloud/runtime/clock.ts';
import type { ListenAddress } from '@headset-cloud/runtime/config.ts';
import { toDomainError } from '@headset-cloud/runtime/errors.ts';
import { closeNow, listenOn, portOf } from '@headset-cloud/runtime/http-listen.ts';
import type { Component } from '@headset-cloud/runtime/lifecycle.ts';
import {
  defaultListeners,
  type Listeners,
  listenerTimes,
} from '@headset-cloud/runtime/listeners/http-listener.ts';
import type { Logger } from '@headset-cloud/runtime/logger.ts';
import type { SecretBox } from '@headset-cloud/runtime/secrets.ts';
import { requestedRange } from '../domain/range.ts';
import { CutOff, type LocalStorage } from './local.ts';
import { grantOf, type UrlGrant } from './signed-urls.ts';

/** Outcome of an upload, for the uploader. */
export interface UploadAnswer {
  readonly status: 200 | 409 | 422;
  readonly text: string;
}

export interface LocalServerOptions {
  readonly listen: ListenAddress;
  readonly storage: LocalStorage;
  readonly secrets: SecretBox;
  readonly clock: Clock;
  readonly logger: Logger;
  /** Maximum duration of one request; milliseconds. */
  readonly requestTimeoutMs: number;
  /** A connection that is idle for this long is closed; milliseconds. */
  readonly idleTimeoutMs?: number;
  readonly listeners?: Listeners;
  /** Called before the body of an upload is read. Returns an answer to reject the upload. */
  readonly onUpload: (key: string) => Promise<UploadAnswer | undefined>;
  /** Called when the file of an upload is stored, before the response. `tag` identifies the file. */
  readonly onUploaded: (key: string, tag: string) => Promise<UploadAnswer>;
}

/**
 * Serves the signed URLs of the local storage (rule C16): PUT with exactly the granted type and length, GET and HEAD of
 * the whole file or of one range. The path contains a sealed grant; other paths are rejected. Errors have the status
 * codes of S3 and one line of text with the reason.
 */
export function createLocalServer(options: LocalServerOptions): Component & { port(): number } {
  const { listen, storage, secrets, clock, logger, listeners = defaultListeners } = options;
  let server: Server | undefined;

  async function answer(request: IncomingMessage, response: ServerResponse, expectsContinue: boolean) {
    const grant = grantOf(secrets, request.url ?? '');
    const method = request.method === 'HEAD' ? 'GET' : request.method;
    if (!grant || grant.method !== method) {
      return refuse(request, response, 403, 'The URL’s signature is wrong.');
    }
    if (clock.now() >= grant.expiresAtMs) return refuse(request, response, 403, 'The URL has expired.');
    return grant.method === 'PUT'
      ? put(grant, request, response, expectsContinue)
      : get(grant, request, response);
  }

  async function put(
    grant: UrlGrant,
    request: IncomingMessage,
    response: ServerResponse,
    expectsContinue: boolean,
  ) {
    const { key, contentType, sizeBytes = 0 } = grant;
    const length = request.headers['content-length'];
    if (request.headers['content-type'] !== contentType) {
      return refuse(request, response, 403, `The Content-Type must be ${contentType}.`);
    }
    if (length === undefined) return refuse(request, response, 411, 'The Content-Length is missing.');
    if (length !== String(sizeBytes)) {
      return refuse(request, response, 403, `The Content-Length must be ${sizeBytes}, as was requested.`);
    }
    const refused = await options.onUpload(key);
    if (refused) return refuse(request, response, refused.status, refused.text);
    if (expectsContinue) response.writeContinue();
    const { tag } = await storage.write(key, request, sizeBytes);
    const { status, text } = await options.onUploaded(key, tag);
    send(response, status, text);
  }

  async function get({ key }: UrlGrant, request: IncomingMessage, response: ServerResponse) {
    const found = await storage.head(key);
    if (!found) return refuse(request, response, 404, 'The file no longer exists.');
    const etag = `"${found.tag}"`;
    const ifRange = request.headers['if-range'];
    const range = ifRange === undefined || ifRange === etag ? request.headers.range : undefined;
    const wanted = requestedRange(range, found.sizeBytes);
    const common = { 'accept-ranges': 'bytes', 'cache-control': 'no-store', etag };
    if (wanted.kind === 'unsatisfiable') {
      response.writeHead(416, { ...common, 'content-range': `bytes */${found.sizeBytes}` }).end();
      return;
    }
    const part = wanted.kind === 'part' ? wanted : { start: 0, end: found.sizeBytes - 1 };
    response.writeHead(wanted.kind === 'part' ? 206 : 200, {
      ...common,
      'content-type': 'application/octet-stream',
      'content-length': part.end - part.start + 1,
      ...(wanted.kind === 'part' && {
        'content-range': `bytes ${part.start}-${part.end}/${found.sizeBytes}`,
      }),
    });
    if (request.method === 'HEAD') response.end();
    else await pipeline(createReadStream(storage.file(key), { start: part.start, end: part.end }), response);
  }

  function handle(request: IncomingMessage, response: ServerResponse, expectsContinue: boolean): void {
    answer(request, response, expectsContinue).catch((error) => {
      const code = (error as NodeJS.ErrnoException).code ?? '';
      const cut = error instanceof CutOff || request.destroyed || response.destroyed;
      if (!cut) logger.warn({ err: error }, 'a file could not be served or stored');
      if (response.headersSent || cut) return response.destroy();
      if (code === 'ENOSPC') return refuse(request, response, 507, 'The storage is full.');
      const known = toDomainError(error).code !== 'internal';
      refuse(request, response, known ? 503 : 500, 'The file could not be stored or served. Try again.');
    });
  }

  return {
    name: 'artifact server',
    port: () => portOf(server),
    async start() {
      const starting = createServer(
        {
          ...listenerTimes,
          requestTimeout: options.requestTimeoutMs,
          keepAliveTimeout: 5000,
          maxHeaderSize: 16_384,
        },
        (request, response) => handle(request, response, false),
      );
      starting.on('checkContinue', (request, response) => handle(request, response, true));
      starting.timeout = options.idleTimeoutMs ?? 60_000;
      starting.maxHeadersCount = 100;
      listeners.guard(starting, 'files');
      await listenOn(starting, listen, 'UPDATES_LISTEN');
      server = starting;
    },
    // Does not wait for uploads and downloads, because clients repeat or resume them.
    stop: () => closeNow(server),
  };
}

/**
 * Maximum size of a rejected body that is read and discarded, so that the sender reads the response; bytes.
 */
const drainedBytes = 1024 * 1024;

/** Responds before the body is read. Closes the connection if the body is large. */
function refuse(request: IncomingMessage, response: ServerResponse, status: number, text: string): void {
  const bodyBytes = Number(request.headers['content-length'] ?? 0);
  if (request.headers['transfer-encoding'] || request.headers.expect || bodyBytes > drainedBytes) {
    response.setHeader('connection', 'close');
  }
  send(response, status, text);
  request.resume();
}

function send(response: ServerResponse, status: number, text: string): void {
  response
    .writeHead(status, { 'content-type': 'text/plain; charset=utf-8', 'cache-control': 'no-store' })
    .end(`${text}\n`);
}
