import { Agent as HttpAgent } from 'node:http';
import { Agent as HttpsAgent } from 'node:https';
import type { Duplex } from 'node:stream';
import { type ConnectorOptions, createConfiguredConnector } from './connector.ts';

type Created = (error: Error | null, stream: Duplex) => void;

/** Creates agents for libraries that use node:http, for hosts that the operators have configured. */
export function createNodeAgents(options: ConnectorOptions & { maxSockets: number }): {
  httpAgent: HttpAgent;
  httpsAgent: HttpsAgent;
} {
  const connect = createConfiguredConnector(options);
  const createConnection =
    (protocol: 'http:' | 'https:') =>
    (target: { host?: string | null; port?: number | string | null; servername?: string }, done: Created) => {
      const hostname = target.host ?? 'localhost';
      const port = String(target.port ?? '');
      const { servername } = target;
      connect(
        { hostname, host: hostname, protocol, port, ...(servername && { servername }) },
        (error, socket) => done(error, socket as Duplex),
      );
      // Node gets the connection by `done`, not by the return value.
      return undefined;
    };
  const { maxSockets } = options;
  const httpAgent = new HttpAgent({ keepAlive: true, maxSockets });
  const httpsAgent = new HttpsAgent({ keepAlive: true, maxSockets });
  Object.assign(httpAgent, { createConnection: createConnection('http:') });
  Object.assign(httpsAgent, { createConnection: createConnection('https:') });
  return { httpAgent, httpsAgent };
}
