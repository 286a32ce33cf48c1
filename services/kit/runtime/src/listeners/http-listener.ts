import type { IncomingMessage, RequestListener, Server, ServerResponse } from 'node:http';
import { BlockList, type Socket } from 'node:net';
import type { Registry } from 'prom-client';
import { type ConnectionLimits, Connections, countRejected, type RejectionReason } from './connections.ts';

/** Limits of an HTTP listener without configuration: the defaults of the settings. */
export const defaultLimits: ConnectionLimits = { most: 4000, mostOfAddress: 1000, proxies: new BlockList() };

/**
 * Time limits of an HTTP listener; milliseconds. Node checks the limits at `connectionsCheckingInterval`. A listener
 * with long requests sets a different `requestTimeout`.
 */
export const listenerTimes = {
  headersTimeout: 10_000,
  requestTimeout: 10_000,
  connectionsCheckingInterval: 1000,
} as const;

/**
 * Maximum number of pipelined requests, which arrive before the answer to an earlier request on their connection. Node
 * starts every pipelined request at once. Without pipelining, each connection has one request in progress, so the limit
 * of connections bounds the requests. Few clients pipeline.
 */
const maxPipelined = { ofConnection: 16, all: 1000 };

/** Headers of a rejection, in addition to its message. */
export type RefusalHeaders = (request: IncomingMessage) => Readonly<Record<string, string>>;

/** The listeners of one process. */
export interface Listeners {
  /** Trusted proxies, each with many clients. */
  readonly proxies: BlockList;
  /** Applies the process's limits to an HTTP server; called before it listens, after its listeners are registered. */
  guard(server: Server, listener: string, refusalHeaders?: RefusalHeaders): void;
}

/** Creates listeners with these limits, which count rejected connections. */
export function openListeners(limits: ConnectionLimits, metrics: Registry): Listeners {
  const counted = countRejected(metrics);
  return {
    proxies: limits.proxies,
    guard: (server, listener, refusalHeaders) =>
      void limitConnections(server, limits, counted(listener), { refusalHeaders }),
  };
}

/** Listeners of a component that runs without `openListeners`: default limits, and no metrics. */
export const defaultListeners: Listeners = {
  proxies: defaultLimits.proxies,
  guard: (server, _, refusalHeaders) =>
    void limitConnections(server, defaultLimits, undefined, { refusalHeaders }),
};

/**
 * Limits the connections of an HTTP server and the requests in progress on each connection; called before it
 * listens, after its listeners are registered.
 */
export function limitConnections(
  server: Server,
  limits: ConnectionLimits = defaultLimits,
  onRejected: (why: RejectionReason) => void = () => {},
  options: ConstructorParameters<typeof Connections>[2] & {
    readonly refusalHeaders?: RefusalHeaders | undefined;
  } = {},
): Connections {
  const { refusalHeaders = () => ({}) } = options;
  const connections = new Connections(limits, onRejected, options);
  let pipelined = 0;
  const admit = (request: IncomingMessage, response: ServerResponse): boolean => {
    const { socket } = request;
    const inProgress = connections.busy(socket);
    const isFirst = inProgress <= 1;
    const isAdmitted = isFirst || (inProgress <= maxPipelined.ofConnection && pipelined < maxPipelined.all);
    const countsAsPipelined = isAdmitted && !isFirst;
    if (countsAsPipelined) pipelined += 1;
    response.once('close', () => {
      connections.idle(socket);
      if (countsAsPipelined) pipelined -= 1;
    });
    if (isAdmitted) return true;
    onRejected('pipelined');
    rejectPipelined(response, refusalHeaders(request));
    return false;
  };
  // Runs before the server's own listeners, which then get a destroyed socket.
  server.prependListener('connection', (socket: Socket) => connections.admit(socket));
  for (const event of ['request', 'checkContinue', 'checkExpectation'] as const) {
    const listeners = server.listeners(event) as RequestListener[];
    if (listeners.length === 0) continue;
    server.removeAllListeners(event);
    server.on(event, (request: IncomingMessage, response: ServerResponse) => {
      if (!admit(request, response)) return;
      for (const listener of listeners) listener.call(server, request, response);
    });
  }
  return connections;
}

/** Answers 503 after the answers to earlier requests, then closes the connection, which drops its later requests. */
function rejectPipelined(response: ServerResponse, headers: Readonly<Record<string, string>>): void {
  response.writeHead(503, {
    ...{ 'Content-Type': 'application/json', 'Retry-After': '1', Connection: 'close' },
    ...headers,
  });
  response.end(JSON.stringify({ message: 'Too many requests at once on one connection.' }));
}
