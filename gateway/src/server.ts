import { randomUUID } from 'node:crypto';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Duplex } from 'node:stream';
import { systemTime, type Time } from '@headset-cloud/runtime/clock.ts';
import { listenOn } from '@headset-cloud/runtime/http-listen.ts';
import type { Component } from '@headset-cloud/runtime/lifecycle.ts';
import { defaultListeners, type Listeners } from '@headset-cloud/runtime/listeners/http-listener.ts';
import type { Logger } from '@headset-cloud/runtime/logger.ts';
import type { Gateway } from './app.ts';
import type { GatewayConfig } from './config.ts';
import { requestId } from './http/request-id.ts';

const maxHeaderBytes = 16 * 1024;
/** How long a request's body may continue to arrive after the request was answered; milliseconds. */
const unwantedBodyMs = 2000;
/** How long open requests may take to finish if the caller gives no time; milliseconds. */
const defaultDrainMs = 4000;

/** The listening gateway. */
export interface GatewayServer extends Component {
  /** Port of the listener. Throws before `start`. */
  readonly port: number;
  beginDrain(): void;
}

export type GatewayServerConfig = Pick<
  GatewayConfig,
  | 'GATEWAY_LISTEN'
  | 'HEADERS_TIMEOUT_MS'
  | 'REQUEST_TIMEOUT_MS'
  | 'KEEP_ALIVE_TIMEOUT_MS'
  | 'SOCKET_STALL_TIMEOUT_MS'
>;

/**
 * Creates the HTTP server with its limits of size and time for requests. Stops in four steps: ends keep-alive
 * connections after their answers, stops accepting, finishes open requests, destroys the other connections.
 */
export function createGatewayServer(
  gateway: Pick<Gateway, 'handler'>,
  config: GatewayServerConfig,
  logger: Logger,
  listeners: Listeners = defaultListeners,
  time: Time = systemTime,
): GatewayServer {
  const openRequests = new Set<ServerResponse>();
  /** The answer of the latest request on each connection. */
  const latest = new WeakMap<Duplex, ServerResponse>();
  let state: 'new' | 'running' | 'draining' | 'stopping' = 'new';

  const server = createServer({
    maxHeaderSize: maxHeaderBytes,
    headersTimeout: config.HEADERS_TIMEOUT_MS,
    requestTimeout: config.REQUEST_TIMEOUT_MS,
    keepAliveTimeout: config.KEEP_ALIVE_TIMEOUT_MS,
    connectionsCheckingInterval: Math.min(1000, config.HEADERS_TIMEOUT_MS),
    // `answerMissingHost` rejects a missing Host header instead, so that the error has the same form as all others.
    requireHostHeader: false,
  });
  server.timeout = config.SOCKET_STALL_TIMEOUT_MS;

  const serve = (req: IncomingMessage, res: ServerResponse) => {
    latest.set(req.socket, res);
    openRequests.add(res);
    res.once('close', () => {
      openRequests.delete(res);
      if (state === 'stopping') setImmediate(() => server.closeIdleConnections());
    });
    res.once('finish', () => dropUnwantedBody(req, time));
    if (state !== 'running') res.setHeader('Connection', 'close');
    if (req.headers.host === undefined && req.httpVersion === '1.1') answerMissingHost(req, res);
    else gateway.handler(req, res);
  };
  server.on('request', serve);
  // `readBytes` sends "100 Continue" itself, after all checks before the body.
  server.on('checkContinue', serve);
  server.on('checkExpectation', serve);
  listeners.guard(server, 'api', ({ headers }) => ({
    'X-Request-Id': requestId(headers['x-request-id']),
    'Cache-Control': 'no-store',
  }));
  server.on('clientError', (error: NodeJS.ErrnoException, socket) => {
    const answering = latest.get(socket);
    answerClientError(error, socket, answering?.headersSent === true && !answering.writableFinished);
  });

  return {
    name: 'gateway',
    get port() {
      return (server.address() as AddressInfo).port;
    },
    notReady: () => (state === 'running' ? undefined : state === 'new' ? 'not started' : 'draining'),
    beginDrain() {
      if (state !== 'running') return;
      state = 'draining';
      // Clients keep using open keep-alive connections, even if a load balancer sends new connections elsewhere.
      for (const res of openRequests) if (!res.headersSent) res.setHeader('Connection', 'close');
    },
    async start() {
      const port = await listenOn(server, config.GATEWAY_LISTEN, 'GATEWAY_LISTEN');
      server.on('error', (error) => logger.error({ err: error }, 'gateway server failed'));
      state = 'running';
      logger.info({ port }, 'gateway listens');
    },
    async stop(forMs = defaultDrainMs) {
      this.beginDrain();
      if (state !== 'draining') return;
      state = 'stopping';
      const closed = new Promise<void>((resolve) => server.close(() => resolve()));
      const forceTimer = time.setTimeout(() => {
        logger.warn(
          { openRequests: openRequests.size },
          'open requests aborted: the time limit of the stop is over',
        );
        server.closeAllConnections();
      }, forMs);
      await closed;
      time.clearTimer(forceTimer);
    },
  };
}

/** Disconnects a client that continues to send the body of a request that is already answered. */
function dropUnwantedBody(req: IncomingMessage, time: Time): void {
  if (req.complete) return;
  const timer = time.setTimeout(() => {
    if (!req.complete) req.socket.destroy();
  }, unwantedBodyMs);
  timer.unref();
  req.once('close', () => time.clearTimer(timer));
}

function answerMissingHost(req: IncomingMessage, res: ServerResponse): void {
  const body = JSON.stringify({ message: 'The Host header is missing.' });
  res.writeHead(400, {
    'Content-Type': 'application/json',
    'Content-Length': Buffer.byteLength(body),
    'X-Request-Id': requestId(req.headers['x-request-id']),
    Connection: 'close',
  });
  res.end(body);
}

const parseErrors: Readonly<Record<string, readonly [string, string]>> = {
  HPE_HEADER_OVERFLOW: ['431 Request Header Fields Too Large', 'The request headers are too large.'],
  ERR_HTTP_REQUEST_TIMEOUT: ['408 Request Timeout', 'The request did not arrive in time.'],
};

/**
 * Answers a request that Node could not parse, in the same form as all errors; `midAnswer`: an answer is being sent.
 */
function answerClientError(error: NodeJS.ErrnoException, socket: Duplex, midAnswer: boolean): void {
  if (error.code === 'ECONNRESET' || midAnswer || !socket.writable) {
    socket.destroy();
    return;
  }
  const [status, message] = parseErrors[error.code ?? ''] ?? [
    '400 Bad Request',
    'The request is not valid HTTP.',
  ];
  const body = JSON.stringify({ message });
  const head = [
    `HTTP/1.1 ${status}`,
    'Content-Type: application/json',
    `Content-Length: ${Buffer.byteLength(body)}`,
    `X-Request-Id: ${randomUUID()}`,
    'Connection: close',
  ];
  socket.end(`${head.join('\r\n')}\r\n\r\n${body}`, () => socket.destroy());
}
