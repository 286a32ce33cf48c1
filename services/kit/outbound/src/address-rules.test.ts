import { readConfig } from '@headset-cloud/runtime/config.ts';
import ipaddr from 'ipaddr.js';
import { addressRules, parseNetworks } from './address-rules.ts';
import { callbackAddressesConfig } from './callback-addresses.ts';

const publicOnly = addressRules([]);

// protects against callbacks/ssrf-addresses, callbacks/ssrf-spellings
test.each([
  ['this network', '0.0.0.0'],
  ['this network', '0.1.2.3'],
  ['loopback', '127.0.0.1'],
  ['loopback', '127.255.255.254'],
  ['private', '10.0.0.1'],
  ['private', '172.16.0.1'],
  ['private', '172.31.255.255'],
  ['private', '192.168.1.1'],
  ['carrier-grade NAT', '100.64.0.1'],
  ['carrier-grade NAT, Alibaba metadata', '100.100.100.200'],
  ['link-local', '169.254.1.1'],
  ['metadata', '169.254.169.254'],
  ['metadata of containers', '169.254.170.2'],
  ['metadata of Oracle', '192.0.0.192'],
  ['Azure virtual host', '168.63.129.16'],
  ['documentation', '192.0.2.1'],
  ['documentation', '198.51.100.1'],
  ['documentation', '203.0.113.1'],
  ['benchmarking', '198.18.0.1'],
  ['multicast', '224.0.0.1'],
  ['multicast', '239.255.255.250'],
  ['reserved', '240.0.0.1'],
  ['broadcast', '255.255.255.255'],
  ['unspecified', '::'],
  ['loopback', '::1'],
  ['IPv4-mapped', '::ffff:127.0.0.1'],
  ['IPv4-mapped', '::ffff:a00:1'],
  ['IPv4-compatible', '::7f00:1'],
  ['NAT64 of loopback', '64:ff9b::7f00:1'],
  ['NAT64 of metadata', '64:ff9b::a9fe:a9fe'],
  ['local NAT64', '64:ff9b:1::1'],
  ['6to4', '2002:7f00:1::'],
  ['Teredo', '2001::1'],
  ['unique local', 'fd00::1'],
  ['metadata of AWS', 'fd00:ec2::254'],
  ['link-local', 'fe80::1'],
  ['link-local with a zone', 'fe80::1%eth0'],
  ['site-local', 'fec0::1'],
  ['multicast', 'ff02::1'],
  ['documentation', '2001:db8::1'],
  ['discard', '100::1'],
  ['bracketed loopback', '[::1]'],
  ['a short form', '127.1'],
  ['an octal form', '0177.0.0.1'],
  ['a number', '2130706433'],
  ['a name', 'localhost'],
  ['nothing', ''],
])('%s (%s) is refused', (_, address) => {
  expect(publicOnly.allows(address)).toBe(false);
});

/** All networks of IANA's registries of special-purpose addresses, IPv4 and IPv6, and the unassigned networks. */
const special = `
  0.0.0.0/8 0.0.0.0/32 10.0.0.0/8 100.64.0.0/10 127.0.0.0/8 169.254.0.0/16 172.16.0.0/12 192.0.0.0/24 192.0.0.0/29
  192.0.0.8/32 192.0.0.9/32 192.0.0.10/32 192.0.0.170/32 192.0.0.171/32 192.0.2.0/24 192.31.196.0/24 192.52.193.0/24
  192.88.99.0/24 192.88.99.2/32 192.168.0.0/16 192.175.48.0/24 198.18.0.0/15 198.51.100.0/24 203.0.113.0/24 224.0.0.0/4
  240.0.0.0/4 255.255.255.255/32
  ::1/128 ::/128 64:ff9b:1::/48 100::/64 100:0:0:1::/64 2001::/23 2001::/32 2001:1::1/128 2001:1::2/128 2001:1::3/128
  2001:2::/48 2001:3::/32 2001:4:112::/48 2001:10::/28 2001:20::/28 2001:30::/28 2001:db8::/32 2002::/16
  2620:4f:8000::/48 3fff::/20 5f00::/16 fc00::/7 fe80::/10 fec0::/10 ff00::/8
  ::/96 ::ffff:0:0:0/96 200::/7 400::/6 800::/5 1000::/4 4000::/3 6000::/3 8000::/3 a000::/3 c000::/3 e000::/4 f000::/5
  f800::/6 fe00::/9
`;

// protects against callbacks/ssrf-addresses
test.each(special.trim().split(/\s+/))('no address of %s is allowed, from the first to the last', (cidr) => {
  const [first, last] = ends(cidr);
  expect([first, last].filter(publicOnly.allows)).toEqual([]);
});

/** The first and the last address of a network. */
function ends(cidr: string): [string, string] {
  const of = ipaddr.parse(cidr.split('/')[0] as string).kind() === 'ipv4' ? ipaddr.IPv4 : ipaddr.IPv6;
  return [of.networkAddressFromCIDR(cidr).toString(), of.broadcastAddressFromCIDR(cidr).toString()];
}

test('the addresses next to special networks are allowed', () => {
  const neighbours = [
    '9.255.255.255',
    '11.0.0.0',
    '192.0.1.0',
    '192.88.100.1',
    '198.20.0.0',
    '223.255.255.255',
  ];
  const of6 = [
    '2000::',
    '2001:200::',
    '2001:db9::',
    '2003::',
    '2620:4f:8001::',
    '3fff:1000::',
    '3fff:ffff::',
  ];
  expect([...neighbours, ...of6].filter((address) => !publicOnly.allows(address))).toEqual([]);
});

test.each(['8.8.8.8', '1.1.1.1', '172.32.0.1', '2606:4700::1111', '::ffff:8.8.8.8', '64:ff9b::808:808'])(
  'the public address %s is allowed',
  (address) => expect(publicOnly.allows(address)).toBe(true),
);

// protects against callbacks/ssrf-spellings
test('an allowed network opens exactly its addresses, also mapped into IPv6', () => {
  const rules = addressRules(parseNetworks('127.0.0.0/8, ::1/128'));
  expect(['127.0.0.1', '127.9.9.9', '::1', '::ffff:127.0.0.1', '8.8.8.8'].map(rules.allows)).toEqual(
    Array(5).fill(true),
  );
  expect(['10.0.0.1', '::2', '169.254.169.254'].map(rules.allows)).toEqual([false, false, false]);
});

// protects against callbacks/ssrf-spellings
test.each([...['10.0.0.1', '[fd00::1]', '[::ffff:7f00:1]', 'localhost', 'LocalHost.', 'a.localhost']])(
  'the host %s is rejected without a DNS lookup',
  (host) => expect(publicOnly.mayAllow(host)).toBe(false),
);

test.each(['8.8.8.8', '[2606:4700::1111]', 'a.example', 'notlocalhost', 'localhost.example', 'intranet'])(
  'the host %s may be allowed, depending on the addresses of the name',
  (host) => expect(publicOnly.mayAllow(host)).toBe(true),
);

test('localhost is allowed if one of its addresses is', () => {
  const hosts = (list: string) =>
    ['localhost', '127.0.0.1', '[::1]'].map(addressRules(parseNetworks(list)).mayAllow);
  expect(hosts('127.0.0.0/8')).toEqual([true, true, false]);
  expect(hosts('::1/128')).toEqual([true, false, true]);
  expect(hosts('10.0.0.0/8')).toEqual([false, false, false]);
});

test('the error about an invalid list names the invalid part', () => {
  expect(() => parseNetworks('127.0.0.0/8,localhost')).toThrow('"localhost"');
  for (const all of ['0.0.0.0/0', '::/0']) {
    expect(() => parseNetworks(`127.0.0.0/8,${all}`)).toThrow(`has "${all}", which is every address`);
  }
});

// protects against callbacks/ssrf-configured
test.each([
  ...['127.0.0.0/8', '127.0.0.1/32', '126.0.0.0/7', '0.0.0.0/1', '0.0.0.0/8', '0.0.0.0/32'],
  ...['::1/128', '::/127', '::/16', '::/128'],
])('in production %s cannot be allowed: this machine is in it', (network) => {
  const read = (list: string, NODE_ENV: string) =>
    readConfig(callbackAddressesConfig, { NOTIFIER_ALLOW_ADDRESSES: list, NODE_ENV });
  expect(() => read(`10.0.0.0/8,${network}`, 'production')).toThrow(
    `has "${network}", which reaches this machine itself`,
  );
  expect(() => read(network, 'production')).toThrow(
    /refused in production\. .* Example: NOTIFIER_ALLOW_ADDRESSES=10\.20\.0\.0\/16,fd00:20::\/64$/,
  );
  expect(read(network, 'development').NOTIFIER_ALLOW_ADDRESSES).toBe(network);
});

test('private networks, except this machine’s, can be allowed in production', () => {
  const list = '10.0.0.0/8,192.168.0.0/16,128.0.0.0/1,fd00::/8,::2/127';
  const env = { NOTIFIER_ALLOW_ADDRESSES: list, NODE_ENV: 'production' };
  expect(readConfig(callbackAddressesConfig, env).NOTIFIER_ALLOW_ADDRESSES).toBe(list);
});
