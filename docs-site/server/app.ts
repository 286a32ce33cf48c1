import {
  createServer,
  type IncomingMessage,
  type Server,
  type ServerResponse,
  STATUS_CODES,
} from 'node:http';
import type { Socket } from 'node:net';
import type { PlatformProcess } from '@headset-cloud/process/process.ts';
import type { ListenAddress } from '@headset-cloud/runtime/config.ts';
import { closeWithin, listenOn, portOf } from '@headset-cloud/runtime/http-listen.ts';
import type { Component } from '@headset-cloud/runtime/lifecycle.ts';
import { listenerTimes } from '@headset-cloud/runtime/listeners/http-listener.ts';
import Negotiator from 'negotiator';
import { Counter } from 'prom-client';
import { type Content, type Encoding, encodings, notFoundFile, type Stored } from './content.ts';
import { fixedHeaders } from './headers.ts';
import { routeOf } from './routing.ts';

/** Idle timeout of a connection; milliseconds. */
const idleMs = 30_000;
/** Default time for open responses to finish at shutdown; milliseconds. */
const defaultDrainMs = 4000;

/** Statuses of requests that Node.js cannot parse, by error code; other errors are 400. */
const parseErrorStatuses: Readonly<Record<string, number>> = {
  ERR_HTTP_REQUEST_TIMEOUT: 408,
  HPE_HEADER_OVERFLOW: 431,
};

/** Header `Allow` of a 405 response (RFC 9110, 15.5.6). */
const allow = 'GET, HEAD';
const text = { 'content-type': 'text/plain; charset=utf-8', 'cache-control': 'no-store' };

/** The site's public port. Serves GET and HEAD from the built site only. Every response has the policy headers. */
export function createSiteServer(
  content: Content,
  listen: ListenAddress,
  { listeners, metrics, logger }: Pick<PlatformProcess, 'listeners' | 'metrics' | 'logger'>,
): Component & { port(): number } {
  const answers = new Counter({
    name: 'site_http_responses_total',
    help: 'Responses of the public port by status.',
    labelNames: ['status'],
    registers: [metrics],
  });
  const missing = content.get(notFoundFile) as Stored;
  const policies = {
    ...fixedHeaders,
    'content-security-policy': missing.headers['content-security-policy'] ?? '',
  };

  const send = (response: ServerResponse, status: number, headers: Record<string, string>, body: Buffer) => {
    response.writeHead(status, { ...policies, ...headers, 'content-length': body.length });
    response.end(response.req.method === 'HEAD' ? undefined : body);
  };
  const sendText = (
    response: ServerResponse,
    status: number,
    headers: Record<string, string>,
    line: string,
  ) => send(response, status, { ...text, ...headers }, Buffer.from(`${line}\n`));

  const answer = (request: IncomingMessage, response: ServerResponse) => {
    if (request.method !== 'GET' && request.method !== 'HEAD')
      return sendText(response, 405, { allow }, 'Only GET and HEAD.');
    if (request.httpVersion !== '1.0' && request.headers.host === undefined)
      return sendText(response, 400, {}, 'The header Host is missing.');
    const route = routeOf(request.url ?? '/', (file) => content.has(file));
    if (route.to === 'redirect') {
      const headers = { location: route.location, 'cache-control': 'public, max-age=3600' };
      return sendText(response, 301, headers, route.location);
    }
    const stored = route.to === 'file' ? content.get(route.file) : undefined;
    if (stored && matches(request.headers['if-none-match'], stored.etag)) {
      response.writeHead(304, { ...policies, ...stored.headers });
      return response.end();
    }
    const encoding = encodingOf(request, stored ?? missing);
    if (!encoding) return sendText(response, 406, {}, 'None of the available content codings is accepted.');
    const headers: Record<string, string> = {
      ...(stored ?? missing).headers,
      ...(encoding === 'identity' ? {} : { 'content-encoding': encoding }),
    };
    if (!stored) {
      headers['cache-control'] = 'no-store';
      delete headers['etag'];
    }
    const body = (stored ?? missing).bodies.get(encoding) as Buffer;
    send(response, stored ? 200 : 404, headers, body);
  };

  /** Responds on the socket if Node.js could not create a request. */
  const respondOnSocket = (socket: Socket, status: number): void => {
    answers.inc({ status });
    const headers = {
      ...policies,
      ...text,
      ...(status === 405 ? { allow } : {}),
      connection: 'close',
      'content-length': '0',
    };
    const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`);
    socket.end(`HTTP/1.1 ${status} ${STATUS_CODES[status]}\r\n${lines.join('')}\r\n`);
  };

  const server: Server = createServer({ ...listenerTimes, requireHostHeader: false }, (request, response) => {
    response.once('close', () => answers.inc({ status: response.statusCode }));
    if (!server.listening) response.setHeader('connection', 'close');
    answer(request, response);
  });
  server.setTimeout(idleMs);
  server.on('checkExpectation', (_request, response: ServerResponse) => {
    answers.inc({ status: 417 });
    sendText(response, 417, { connection: 'close' }, 'The header Expect is not supported.');
  });
  server.on('connect', (_request, socket: Socket) => respondOnSocket(socket, 405));
  server.on('clientError', (error: NodeJS.ErrnoException, socket: Socket) => {
    if (error.code === 'ECONNRESET' || !socket.writable) return socket.destroy();
    return respondOnSocket(socket, parseErrorStatuses[error.code ?? ''] ?? 400);
  });
  listeners.guard(server, 'site', () => policies);

  return {
    name: 'site',
    port: () => portOf(server),
    async start() {
      const port = await listenOn(server, listen, 'SITE_LISTEN');
      logger.info({ port }, 'site listens');
    },
    stop: (forMs = defaultDrainMs) => closeWithin(server, forMs),
  };
}

/** Content coding by RFC 9110, 12.5.3. Prefers br to gzip at equal weight; undefined if the client rejects all. */
function encodingOf(request: IncomingMessage, { bodies }: Stored): Encoding | undefined {
  const available = encodings.filter((encoding) => bodies.has(encoding));
  return new Negotiator(request).encodings(available, { preferred: available })[0];
}

/** If-None-Match compares weakly (RFC 9110, 13.1.2). */
const matches = (given: string | undefined, etag: string): boolean =>
  given !== undefined &&
  (given.trim() === '*' ||
    given.split(',').some((one) => one.trim().replace(/^W\//, '') === etag.replace(/^W\//, '')));
