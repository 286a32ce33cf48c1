import { isIP } from 'node:net';
import ipaddr from 'ipaddr.js';

/** Returns true for a host that is reached without the egress proxy. `hostname`: as in a URL. */
export type Bypass = (hostname: string) => boolean;

const hostName = /^\.?[a-z0-9_]([a-z0-9_-]*[a-z0-9_])?(\.[a-z0-9_]([a-z0-9_-]*[a-z0-9_])?)*$/i;

/**
 * Parses a list separated by commas: host names, addresses and networks. A host name, with or without a dot before it,
 * includes its subdomains. A network applies to addresses in URLs only, not to the addresses of a name. Throws an Error
 * that names the invalid part.
 */
export function parseNoProxy(list: string | undefined): Bypass {
  const parts = (list ?? '')
    .split(',')
    .map((part) => part.trim())
    .filter((part) => part !== '')
    .map(ruleOf);
  return (hostname) => {
    const host = hostname.replace(/^\[(.*)\]$/, '$1').toLowerCase();
    return parts.some((rule) => rule(host));
  };
}

function ruleOf(part: string): (host: string) => boolean {
  if (isIP(part) || part.includes('/')) {
    try {
      const [base, bits] = ipaddr.parseCIDR(isIP(part) ? `${part}/${isIP(part) === 4 ? 32 : 128}` : part);
      return (host) => {
        if (!isIP(host)) return false;
        const address = ipaddr.process(host);
        return address.kind() === base.kind() && address.match(base as never, bits as never);
      };
    } catch {
      throw new Error(`has ${JSON.stringify(part)}, which is neither an address nor a network`);
    }
  }
  if (!hostName.test(part)) throw new Error(`has ${JSON.stringify(part)}, which is no host name`);
  const name = part.replace(/^\./, '').toLowerCase();
  return (host) => host === name || host.endsWith(`.${name}`);
}
