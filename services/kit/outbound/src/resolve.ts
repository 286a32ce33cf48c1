import { lookup, Resolver } from 'node:dns/promises';
import { isIP } from 'node:net';

/** Returns all addresses of a host name; rejects if there are none. */
export type Resolve = (hostname: string) => Promise<readonly string[]>;

/**
 * Queries DNS directly (c-ares) instead of through getaddrinfo. getaddrinfo runs on Node's few pool threads, so a few
 * hosts with dead name servers would delay the lookup of all other names. Only names without an answer from DNS are
 * looked up by getaddrinfo, which also reads the hosts file.
 */
export function createResolver(timeoutMs: number): Resolve {
  const resolver = new Resolver({ timeout: Math.max(Math.floor(timeoutMs / 2), 1), tries: 2 });
  return async (hostname) => {
    if (isIP(hostname)) return [hostname];
    if (hostname === 'localhost' || hostname.endsWith('.localhost')) return ['127.0.0.1', '::1'];
    const [v4, v6] = await Promise.allSettled([resolver.resolve4(hostname), resolver.resolve6(hostname)]);
    const addresses = [v4, v6].flatMap((answer) => (answer.status === 'fulfilled' ? answer.value : []));
    if (addresses.length > 0) return addresses;
    const code = v4.status === 'rejected' ? (v4.reason as NodeJS.ErrnoException).code : undefined;
    if (code === 'ETIMEOUT' || code === 'ECANCELLED') throw (v4 as PromiseRejectedResult).reason;
    return (await lookup(hostname, { all: true })).map((entry) => entry.address);
  };
}
