import { Agent, fetch } from 'undici';
import { type ConnectorOptions, createConfiguredConnector } from './connector.ts';

/** `fetch` for hosts that the operators have configured, through the egress proxy where there is one. */
export function createFetch(options: ConnectorOptions): typeof globalThis.fetch {
  const dispatcher = new Agent({ connect: createConfiguredConnector(options) });
  const through = (url: string, init?: Parameters<typeof fetch>[1]) => fetch(url, { ...init, dispatcher });
  // undici's types and Node's own differ in details; both describe the same standard.
  return through as unknown as typeof globalThis.fetch;
}
