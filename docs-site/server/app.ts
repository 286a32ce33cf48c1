import {
  createServer,
  type IncomingMessage,
  type Server,
  type ServerResponse,
  STATUS_CODES,
} from 'node:http';
import type { Socket } from 'node:net';
import Negotiator from 'negotiator';
import { type Content, type Encoding, encodings, notFoundFile, type Stored } from './content.ts';
import { fixedHeaders } from './headers.ts';
import { routeOf } from './routing.ts';

/** Nobody who reads needs longer without a byte moving. */
const idleMs = 30_000;
const mostConnections = 4096;

/** What Node says of a request that never came to be one; everything else is 400. */
const refusals: Readonly<Record<string, number>> = {
  ERR_HTTP_REQUEST_TIMEOUT: 408,
  HPE_HEADER_OVERFLOW: 431,
};

/** A 405 names what is answered (RFC 9110, 15.5.6). */
const allow = 'GET, HEAD';
const text = { 'content-type': 'text/plain; charset=utf-8', 'cache-control': 'no-store' };

/** The public server: it answers GET and HEAD from the built site and from nothing else, with the policies on every answer. */
export function buildApp(content: Content, onAnswer: (status: number) => void): Server {
  const missing = content.get(notFoundFile) as Stored;
  const policies = {
    ...fixedHeaders,
    'content-security-policy': missing.headers['content-security-policy'] ?? '',
  };

  const send = (response: ServerResponse, status: number, headers: Record<string, string>, body: Buffer) => {
    response.writeHead(status, { ...policies, ...headers, 'content-length': body.length });
    response.end(response.req.method === 'HEAD' ? undefined : body);
  };
  const say = (response: ServerResponse, status: number, headers: Record<string, string>, line: string) =>
    send(response, status, { ...text, ...headers }, Buffer.from(`${line}\n`));

  const answer = (request: IncomingMessage, response: ServerResponse) => {
    if (request.method !== 'GET' && request.method !== 'HEAD')
      return say(response, 405, { allow }, 'Only GET and HEAD.');
    if (request.httpVersion !== '1.0' && request.headers.host === undefined)
      return say(response, 400, {}, 'The header Host is missing.');
    const route = routeOf(request.url ?? '/', (file) => content.has(file));
    if (route.to === 'redirect') {
      const headers = { location: route.location, 'cache-control': 'public, max-age=3600' };
      return say(response, 301, headers, route.location);
    }
    const stored = route.to === 'file' ? content.get(route.file) : undefined;
    if (stored && matches(request.headers['if-none-match'], stored.etag)) {
      response.writeHead(304, { ...policies, ...stored.headers });
      return response.end();
    }
    const encoding = encodingOf(request, stored ?? missing);
    if (!encoding) return say(response, 406, {}, 'No content coding that is had here is accepted.');
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

  const server = createServer({ requireHostHeader: false }, (request, response) => {
    response.once('close', () => onAnswer(response.statusCode));
    if (!server.listening) response.setHeader('connection', 'close');
    answer(request, response);
  });
  server.maxConnections = mostConnections;
  server.setTimeout(idleMs);
  server.on('checkExpectation', (_request, response: ServerResponse) => {
    onAnswer(417);
    say(response, 417, { connection: 'close' }, 'Nothing can be expected here.');
  });
  server.on('connect', (_request, socket: Socket) => refuse(socket, 405));
  server.on('clientError', (error: NodeJS.ErrnoException, socket: Socket) => {
    if (error.code === 'ECONNRESET' || !socket.writable) return socket.destroy();
    return refuse(socket, refusals[error.code ?? ''] ?? 400);
  });

  /** Where Node has no request to answer. */
  function refuse(socket: Socket, status: number): void {
    onAnswer(status);
    const headers = {
      ...policies,
      ...text,
      ...(status === 405 ? { allow } : {}),
      connection: 'close',
      'content-length': '0',
    };
    const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`);
    socket.end(`HTTP/1.1 ${status} ${STATUS_CODES[status]}\r\n${lines.join('')}\r\n`);
  }

  return server;
}

/** RFC 9110, 12.5.3: br before gzip where the client weighs them equally; undefined where it refuses all. */
function encodingOf(request: IncomingMessage, { bodies }: Stored): Encoding | undefined {
  const available = encodings.filter((encoding) => bodies.has(encoding));
  return new Negotiator(request).encodings(available, { preferred: available })[0];
}

/** If-None-Match compares weakly (RFC 9110, 13.1.2). */
const matches = (given: string | undefined, etag: string): boolean =>
  given !== undefined &&
  (given.trim() === '*' ||
    given.split(',').some((one) => one.trim().replace(/^W\//, '') === etag.replace(/^W\//, '')));
