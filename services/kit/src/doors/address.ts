import type { IncomingMessage } from 'node:http';
import { type BlockList, isIP } from 'node:net';

/**
 * The address that a request came from. Where TRUSTED_PROXIES lists the peer, the last address of
 * X-Forwarded-For that is none of theirs: what stands before it, anybody may have written.
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

/** An IPv4 address as itself, not as IPv6 writes it. */
function plain(address: string): string {
  return address.replace(/^::ffff:(?=\d+\.)/i, '');
}
