import ipaddr from 'ipaddr.js';

type Address = ipaddr.IPv4 | ipaddr.IPv6;
type Network = [Address, number];

/** Rules for the addresses that outgoing requests may use, resolved or literal in URLs. */
export interface AddressRules {
  /** True if a callback may be sent to the address. False for text that is not an address. */
  allows(address: string): boolean;
  /**
   * False for a URL's host that can never be allowed: a forbidden address, or `localhost` (RFC 6761). Other names are
   * checked by their addresses when a connection is opened.
   */
  mayAllow(hostname: string): boolean;
}

/** The network with all public IPv6 addresses (RFC 4291). ipaddr.js recognizes the special ranges in this network. */
const globalUnicast = ipaddr.parseCIDR('2000::/3');
/** Azure's metadata service, which has a public address but serves internal data. */
const azureMetadata = ipaddr.parseCIDR('168.63.129.16/32');
const nat64 = ipaddr.parseCIDR('64:ff9b::/96') as [ipaddr.IPv6, number];

/** Parses networks in CIDR form, separated by commas. Throws an Error that names the invalid network. */
export function parseNetworks(list: string | undefined): Network[] {
  return (list ?? '')
    .split(',')
    .map((part) => part.trim())
    .filter((part) => part !== '')
    .map((part) => {
      let network: Network;
      try {
        network = ipaddr.parseCIDR(part);
      } catch {
        throw new Error(`has ${JSON.stringify(part)}, which is not a network such as 127.0.0.0/8`);
      }
      if (network[1] === 0)
        throw new Error(`has ${JSON.stringify(part)}, which is every address: name networks`);
      return network;
    });
}

/** Addresses of this machine; Linux connects 0.0.0.0 and :: to the machine itself as well. */
const thisMachine = ['127.0.0.0/8', '0.0.0.0/8', '::1/128', '::/128'].map((one) => ipaddr.parseCIDR(one));

/**
 * Throws an Error if a network in the list contains an address of this machine. With that network, the URL of an
 * integrator's endpoint could reach the listeners for services and operators in the same pod or host.
 */
export function rejectThisMachine(list: string): void {
  const own = parseNetworks(list).find((network) => thisMachine.some((one) => overlap(one, network)));
  if (own) {
    const name = JSON.stringify(`${own[0]}/${own[1]}`);
    throw new Error(
      `has ${name}, which reaches this machine itself, and so the listeners of services and operators: that is refused in production`,
    );
  }
}

/** True if one network contains the other. Two networks cannot overlap in any other way. */
function overlap([a, bitsOfA]: Network, [b, bitsOfB]: Network): boolean {
  return a.kind() === b.kind() && a.match(b as never, Math.min(bitsOfA, bitsOfB) as never);
}

/**
 * Allows public addresses only (rule C10). Rejects everything that IANA lists as special (loopback, private,
 * link-local with the metadata services, carrier-grade NAT, multicast, reserved, tunnels, …) and all
 * unassigned IPv6 addresses, unless a network of `allowed` contains the address. IPv4 inside IPv6
 * (mapped, or behind NAT64) is checked as the IPv4 address that it reaches.
 */
export function addressRules(allowed: readonly Network[]): AddressRules {
  const allows = (text: string): boolean => {
    const address = parse(text);
    if (!address) return false;
    if (allowed.some((network) => within(address, network))) return true;
    if (address.range() !== 'unicast') return false;
    return address.kind() === 'ipv6' ? within(address, globalUnicast) : !within(address, azureMetadata);
  };
  return {
    allows,
    mayAllow(hostname) {
      if (/^(.+\.)?localhost\.?$/i.test(hostname)) return allows('127.0.0.1') || allows('::1');
      return parse(hostname) === undefined || allows(hostname);
    },
  };
}

function parse(text: string): Address | undefined {
  const plain = text.replace(/^\[(.*)\]$/, '$1');
  // Accepts only complete addresses: ipaddr.js also accepts "127.1", which a resolver may interpret differently.
  if (!ipaddr.IPv4.isValidFourPartDecimal(plain) && !ipaddr.IPv6.isValid(plain)) return undefined;
  const address = ipaddr.process(plain);
  if (address instanceof ipaddr.IPv6 && address.match(nat64)) {
    return new ipaddr.IPv4(address.toByteArray().slice(12));
  }
  return address;
}

function within(address: Address, [base, bits]: Network): boolean {
  return address.kind() === base.kind() && address.match(base as never, bits as never);
}
