import { BlockList, isIP } from 'node:net';
import { type ConfigKey, type ConfigOf, integer } from '../config.ts';
import type { ConnectionLimits } from './connections.ts';

/** A list of addresses and networks (CIDR), separated by commas. */
function networks(o: { readonly doc: string; readonly example: string }) {
  const parse = (value: string): BlockList => {
    const list = new BlockList();
    for (const one of value.split(',').map((part) => part.trim())) {
      const [address = '', prefix, ...rest] = one.split('/');
      const family = isIP(address);
      const bits = family === 6 ? 128 : 32;
      if (family === 0 || rest.length > 0 || (prefix !== undefined && !/^\d{1,3}$/.test(prefix))) {
        throw new Error(`has "${one}", which is no address and no network`);
      }
      // If every address were a trusted proxy, every client could choose its address by X-Forwarded-For.
      if (prefix !== undefined && Number(prefix) === 0)
        throw new Error(`has "${one}", which is every address`);
      if (Number(prefix ?? 0) > bits) throw new Error(`has "${one}", whose prefix is over ${bits}`);
      list.addSubnet(address, Number(prefix ?? bits), family === 6 ? 'ipv6' : 'ipv4');
    }
    return list;
  };
  return { ...o, parse } satisfies ConfigKey<BlockList>;
}

/** Settings of every process: the limits of its HTTP listeners (rule C21). */
export const listenerConfig = {
  LISTENER_CONNECTIONS: integer({
    doc: 'Maximum number of connections to one HTTP listener (API, files, webhooks, operators). At the limit, a new connection replaces the one that is idle longest.',
    example: '4000',
    default: 4000,
    min: 10,
    max: 1_000_000,
  }),
  LISTENER_CONNECTIONS_PER_ADDRESS: integer({
    doc: 'Maximum number of connections to one HTTP listener from one address (IPv6: from one /64). Connections from TRUSTED_PROXIES count only towards LISTENER_CONNECTIONS.',
    example: '1000',
    default: 1000,
    min: 1,
    max: 1_000_000,
  }),
  TRUSTED_PROXIES: networks({
    doc: 'Addresses and networks (CIDR) of the proxies in front of the listeners, separated by commas. Each of them has many clients.',
    example: '10.0.0.0/8,fd00::/8',
  }),
} as const;

/** The limits of a process's listeners for HTTP. */
export function listenerLimits(config: ConfigOf<typeof listenerConfig>): ConnectionLimits {
  return {
    most: config.LISTENER_CONNECTIONS,
    mostOfAddress: config.LISTENER_CONNECTIONS_PER_ADDRESS,
    proxies: config.TRUSTED_PROXIES ?? new BlockList(),
  };
}
