import { Agent, fetch } from 'undici';
import { type ConnectorOptions, createConfiguredConnector } from './connector.ts';

/** `fetch` for hosts that the operators have configured, through the egress proxy if one is configured. */
export function createFetch(options: ConnectorOptions): typeof globalThis.fetch {
  // HTTP/2 is off: until undici knows whether a host supports it, all requests wait for the first connection.
  const dispatcher = new Agent({ allowH2: false, connect: createConfiguredConnector(options) });
  const through = (url: string, init?: Parameters<typeof fetch>[1]) => fetch(url, { ...init, dispatcher });
  // undici's types and Node's own differ in details; both describe the same standard.
  return through as unknown as typeof globalThis.fetch;
}
