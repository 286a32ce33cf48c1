import { BlockList, Socket } from 'node:net';
import { createFakeTime } from '../testing/fake-time.ts';
import { Connections, type RejectionReason } from './connections.ts';

const proxies = new BlockList();
proxies.addSubnet('fd00::', 8, 'ipv6');

let rejected: RejectionReason[];
let ports: number;
let connections: Connections;
beforeEach(() => {
  rejected = [];
  ports = 0;
  // No connection gets old, so none is replaced.
  const timing = { clock: createFakeTime() };
  const limits = { most: 100, mostOfAddress: 2, proxies };
  connections = new Connections(limits, (why) => rejected.push(why), timing);
});

/** A socket of a client with that address. */
function from(remoteAddress: string): Socket {
  const remoteFamily = remoteAddress.includes(':') ? 'IPv6' : 'IPv4';
  ports += 1;
  return Object.defineProperties(new Socket(), {
    remoteAddress: { value: remoteAddress },
    remotePort: { value: ports },
    remoteFamily: { value: remoteFamily },
  });
}
const admit = (...addresses: string[]) => addresses.map((address) => connections.admit(from(address)));

// protects against rest/crowd, headsets/crowd
it('addresses of one IPv6 /64 share the limit of one address; another /64 has a separate limit', () => {
  expect(admit('2001:db8::1', '2001:db8::2', '2001:db8:0:0:ffff::3', '2001:db8:0:1::1')).toEqual([
    ...[true, true, false, true],
  ]);
  expect(rejected).toEqual(['address']);
});

it('each IPv4 address has a separate limit, also in its IPv6-mapped form', () => {
  const mapped = ['::ffff:192.0.2.1', '::ffff:192.0.2.2', '::ffff:192.0.2.3', '::ffff:c000:204'];
  expect(admit(...mapped)).toEqual([true, true, true, true]);
  expect(admit('192.0.2.1', '::ffff:192.0.2.1')).toEqual([true, false]);
});

it('a proxied connection counts for the /64 of its client, and is logged with the full address', () => {
  admit('2001:db8::1', '2001:db8::2');
  const [own, other] = [from('fd00::1'), from('fd00::1')];
  for (const socket of [own, other]) expect(connections.admit(socket)).toBe(true);
  expect(connections.countForClient(own, '2001:db8::3')).toBe(false);
  expect(connections.countForClient(other, '2001:db8:0:1::3')).toBe(true);
  expect(connections.addressOf(`fd00::1:${other.remotePort}`)).toBe('2001:db8:0:1::3');
});

it('a closed connection no longer counts for its /64', () => {
  const first = from('2001:db8::1');
  connections.admit(first);
  expect(admit('2001:db8::2', '2001:db8::3')).toEqual([true, false]);
  first.emit('close');
  expect(admit('2001:db8::4', '2001:db8::5')).toEqual([true, false]);
});
