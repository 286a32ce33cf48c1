import type { IncomingMessage } from 'node:http';
import { type BlockList, isIP, isIPv6 } from 'node:net';

/**
 * The client address of a request. If TRUSTED_PROXIES contains the peer: the last address of X-Forwarded-For that is not
 * a trusted proxy. The client itself may have written the addresses before it.
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

/** An IPv4 address in IPv4 form, not mapped into IPv6. */
function plain(address: string): string {
  return address.replace(/^::ffff:(?=\d+\.)/i, '');
}

/**
 * Key by which clients without a name are counted: the IPv4 address, or the /64 of an IPv6 address, because a provider
 * gives one customer a /64.
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
