import type { IncomingMessage } from 'node:http';
import { type BlockList, isIP, isIPv6 } from 'node:net';

/**
 * Returns the client address of a request: the address of the peer, or, if the peer is a trusted proxy, the last
 * address in X-Forwarded-For that is not a trusted proxy. Addresses before that one are ignored, because the client may
 * have written them.
 */
export function addressOf(request: IncomingMessage, proxies: BlockList): string {
  let address = plain(request.socket.remoteAddress ?? '');
  const given = request.headers['x-forwarded-for'];
  const forwarded = (Array.isArray(given) ? given.join(',') : (given ?? '')).split(',');
  while (isProxy(address, proxies)) {
    const before = plain(forwarded.pop()?.trim() ?? '');
    if (isIP(before) === 0) break;
    address = before;
  }
  return address;
}

function isProxy(address: string, proxies: BlockList): boolean {
  const family = isIP(address);
  return family !== 0 && proxies.check(address, family === 6 ? 'ipv6' : 'ipv4');
}

/** Converts an IPv4 address that is mapped into IPv6 (`::ffff:…`) to IPv4 form. */
function plain(address: string): string {
  return address.replace(/^::ffff:(?=\d+\.)/i, '');
}

/**
 * Returns the key by which clients without a client id are counted: the IPv4 address, or the /64 of an IPv6 address,
 * because a provider assigns a /64 to one customer.
 */
export function networkOf(address: string): string {
  const known = plain(address);
  if (!isIPv6(known)) return known;
  const [before = '', after] = known.split('::');
  const groups = (text: string) => (text === '' ? [] : text.split(':'));
  const head = groups(before);
  const zeros = after === undefined ? 0 : Math.max(0, 8 - head.length - groups(after).length);
  const all = [...head, ...Array.from({ length: zeros }, () => '0'), ...groups(after ?? '')].map((group) =>
    Number.parseInt(group, 16).toString(16),
  );
  const isIPv4 = all.slice(0, 6).join(':') === '0:0:0:0:0:ffff';
  return all.slice(isIPv4 ? 6 : 0, isIPv4 ? 8 : 4).join(':');
}
