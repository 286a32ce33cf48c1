import type { IncomingMessage } from 'node:http';
import { BlockList } from 'node:net';
import { readConfig } from '../config.ts';
import { addressOf } from './address.ts';
import { listenerConfig } from './config.ts';

const proxies = new BlockList();
proxies.addSubnet('10.0.0.0', 8, 'ipv4');
proxies.addSubnet('fd00::', 8, 'ipv6');

const of = (remoteAddress: string, forwarded?: string) =>
  addressOf(
    { socket: { remoteAddress }, headers: { 'x-forwarded-for': forwarded } } as unknown as IncomingMessage,
    proxies,
  );

// protects against rest/address-spoofed
test.each([
  ['a peer that is no proxy is the caller, whatever it writes', '192.0.2.7', '198.51.100.1', '192.0.2.7'],
  ['behind a proxy the address that the proxy names', '10.0.0.1', '198.51.100.1', '198.51.100.1'],
  [
    'addresses before the one added by the proxy are ignored',
    '10.0.0.1',
    '1.1.1.1, 198.51.100.1',
    '198.51.100.1',
  ],
  ['several proxies in a row', 'fd00::1', '198.51.100.1, 10.2.3.4', '198.51.100.1'],
  ['a name that is no address leaves the proxy', '10.0.0.1', 'unknown', '10.0.0.1'],
  ['a proxy that names nobody', '10.0.0.1', undefined, '10.0.0.1'],
  ['IPv4 as IPv6 writes it', '::ffff:10.0.0.1', '::ffff:192.0.2.9', '192.0.2.9'],
])('who calls: %s', (_, peer, forwarded, address) => {
  expect(of(peer, forwarded)).toBe(address);
});

test.each(['0.0.0.0/0', '10.0.0.0/8,::/0'])(
  'rejects a trusted proxy list of all addresses: %s',
  (TRUSTED_PROXIES) => {
    expect(() => readConfig(listenerConfig, { TRUSTED_PROXIES })).toThrow('which is every address');
  },
);
