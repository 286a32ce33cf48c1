import type { IncomingMessage, RequestListener, Server, ServerResponse } from 'node:http';
import { BlockList, type Socket } from 'node:net';
import type { Registry } from 'prom-client';
import { type ConnectionLimits, Connections, countTurnedAway, type TurnedAway } from './connections.ts';

/** What a listener for HTTP bears where nobody says otherwise: as the defaults of the configuration. */
export const defaultLimits: ConnectionLimits = { most: 4000, mostOfAddress: 1000, proxies: new BlockList() };

/**
 * Time limits of a listener for HTTP; Node keeps them only as often as it checks. A listener with long requests
 * sets its own `requestTimeout`. Milliseconds.
 */
export const listenerTimes = {
  headersTimeout: 10_000,
  requestTimeout: 10_000,
  connectionsCheckingInterval: 1000,
} as const;

/**
 * Requests that come before the answer to an earlier one on their connection (pipelining), which hardly any
 * client does. A connection has one request under way without them, so these are what the number of connections
 * does not bound: Node starts on every request that it has read.
 */
const mostPipelined = { ofConnection: 16, all: 1000 };

/** What a refusal says of its request beside its message. */
export type RefusalHeaders = (request: IncomingMessage) => Readonly<Record<string, string>>;

/** The listeners of one process. */
export interface Listeners {
  /** Behind one of these addresses there are many clients. */
  readonly proxies: BlockList;
  /** Puts the process's limits on a server for HTTP; called before it listens, when its listeners are there. */
  guard(server: Server, listener: string, refusalHeaders?: RefusalHeaders): void;
}

/** Listeners with these limits, which count whom they turn away. */
export function openListeners(limits: ConnectionLimits, metrics: Registry): Listeners {
  const counted = countTurnedAway(metrics);
  return {
    proxies: limits.proxies,
    guard: (server, listener, refusalHeaders) =>
      void limitConnections(server, limits, counted(listener), { refusalHeaders }),
  };
}

/** The listeners of a part that is built without a process. */
export const defaultListeners: Listeners = {
  proxies: defaultLimits.proxies,
  guard: (server, _, refusalHeaders) =>
    void limitConnections(server, defaultLimits, undefined, { refusalHeaders }),
};

/**
 * Puts limits on the connections of a server for HTTP, and on what one connection asks at once; called before it
 * listens, when its listeners are there.
 */
export function limitConnections(
  server: Server,
  limits: ConnectionLimits = defaultLimits,
  onTurnedAway: (why: TurnedAway) => void = () => {},
  options: ConstructorParameters<typeof Connections>[2] & {
    readonly refusalHeaders?: RefusalHeaders | undefined;
  } = {},
): Connections {
  const { refusalHeaders = () => ({}) } = options;
  const connections = new Connections(limits, onTurnedAway, options);
  let pipelined = 0;
  const admit = (request: IncomingMessage, response: ServerResponse): boolean => {
    const { socket } = request;
    const underWay = connections.busy(socket);
    const isFirst = underWay <= 1;
    const isAdmitted = isFirst || (underWay <= mostPipelined.ofConnection && pipelined < mostPipelined.all);
    const counts = isAdmitted && !isFirst;
    if (counts) pipelined += 1;
    response.once('close', () => {
      connections.idle(socket);
      if (counts) pipelined -= 1;
    });
    if (isAdmitted) return true;
    onTurnedAway('pipelined');
    refuse(response, refusalHeaders(request));
    return false;
  };
  // Before the server's own listeners, which then find a socket that is destroyed.
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

/** Answers in its turn; then the connection ends, with whatever else was asked on it. */
function refuse(response: ServerResponse, headers: Readonly<Record<string, string>>): void {
  response.writeHead(503, {
    ...{ 'Content-Type': 'application/json', 'Retry-After': '1', Connection: 'close' },
    ...headers,
  });
  response.end(JSON.stringify({ message: 'Too many requests at once on one connection.' }));
}
