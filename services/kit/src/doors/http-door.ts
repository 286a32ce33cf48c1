import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import { BlockList, type Socket } from 'node:net';
import type { Registry } from 'prom-client';
import { type ConnectionLimits, Connections, countTurnedAway, type TurnedAway } from './connections.ts';

/** What a door for HTTP bears where nobody says otherwise: as the defaults of the configuration. */
export const defaultLimits: ConnectionLimits = { most: 4000, mostOfAddress: 1000, proxies: new BlockList() };

/**
 * Time limits of a door for HTTP; Node keeps them only as often as it checks. A door with long requests
 * sets its own `requestTimeout`. Milliseconds.
 */
export const doorTimes = {
  headersTimeout: 10_000,
  requestTimeout: 10_000,
  connectionsCheckingInterval: 1000,
} as const;

/** The doors of one process. */
export interface Doors {
  /** Behind one of these addresses there are many clients. */
  readonly proxies: BlockList;
  /** Puts the process's limits on a server for HTTP; called before it listens, when its listeners are there. */
  guard(server: Server, door: string): void;
}

/** Doors with these limits, which count whom they turn away. */
export function openDoors(limits: ConnectionLimits, metrics: Registry): Doors {
  const counted = countTurnedAway(metrics);
  return {
    proxies: limits.proxies,
    guard: (server, door) => void limitConnections(server, limits, counted(door)),
  };
}

/** The doors of a part that is built without a process. */
export const defaultDoors: Doors = {
  proxies: defaultLimits.proxies,
  guard: (server) => void limitConnections(server),
};

/** Puts limits on the connections of a server for HTTP; called before it listens. */
export function limitConnections(
  server: Server,
  limits: ConnectionLimits = defaultLimits,
  onTurnedAway?: (why: TurnedAway) => void,
  timing?: ConstructorParameters<typeof Connections>[2],
): Connections {
  const connections = new Connections(limits, onTurnedAway, timing);
  const count = ({ socket }: IncomingMessage, response: ServerResponse) => {
    connections.busy(socket);
    response.once('close', () => connections.idle(socket));
  };
  // Before the server's own listeners, which then find a socket that is destroyed.
  server.prependListener('connection', (socket: Socket) => connections.admit(socket));
  for (const event of ['request', 'checkContinue', 'checkExpectation'] as const) {
    if (event === 'request' || server.listenerCount(event) > 0) server.prependListener(event, count);
  }
  return connections;
}
