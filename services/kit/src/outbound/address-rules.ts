import ipaddr from 'ipaddr.js';

type Address = ipaddr.IPv4 | ipaddr.IPv6;
type Network = [Address, number];

/** Decides about resolved addresses, and about literal ones in URLs. */
export interface AddressRules {
  /** True when a callback may be sent there. Text that is not an address is refused. */
  allows(address: string): boolean;
  /**
   * False for a URL's host that is refused whatever is resolved: an address, or `localhost` (RFC 6761). Every other
   * name is judged when it is connected to.
   */
  mayAllow(hostname: string): boolean;
}

/** All that IANA has given out of IPv6 for servers (RFC 4291); what is special in it, ipaddr.js knows. */
const globalUnicast = ipaddr.parseCIDR('2000::/3');
/** Azure's virtual host, with its metadata: public by its number. */
const azureHost = ipaddr.parseCIDR('168.63.129.16/32');
const nat64 = ipaddr.parseCIDR('64:ff9b::/96') as [ipaddr.IPv6, number];

/** Parses networks in CIDR form, divided by commas. Throws an Error that names the wrong one. */
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

/** What reaches the machine itself; Linux connects to itself for 0.0.0.0 and :: as well. */
const thisMachine = ['127.0.0.0/8', '0.0.0.0/8', '::1/128', '::/128'].map((one) => ipaddr.parseCIDR(one));

/**
 * Throws an Error that names a network in which this machine is: whoever chooses the address could then call what
 * listens for the services and operators of the same pod or host.
 */
export function refuseThisMachine(list: string): void {
  const own = parseNetworks(list).find((network) => thisMachine.some((one) => overlap(one, network)));
  if (own) {
    const name = JSON.stringify(`${own[0]}/${own[1]}`);
    throw new Error(
      `has ${name}, which reaches this machine itself, and so the listeners of services and operators: that is refused in production`,
    );
  }
}

/** Networks are parts of each other, or have nothing in common. */
function overlap([a, bitsOfA]: Network, [b, bitsOfB]: Network): boolean {
  return a.kind() === b.kind() && a.match(b as never, Math.min(bitsOfA, bitsOfB) as never);
}

/**
 * Public addresses only (rule C10): everything that IANA lists as special (loopback, private,
 * link-local with the metadata services, carrier-grade NAT, multicast, reserved, tunnels, …), and all
 * of IPv6 that nobody has, is refused unless a network of `allowed` contains it. IPv4 inside IPv6
 * (mapped, or behind NAT64) is judged as the IPv4 address that it reaches.
 */
export function addressRules(allowed: readonly Network[]): AddressRules {
  const allows = (text: string): boolean => {
    const address = parse(text);
    if (!address) return false;
    if (allowed.some((network) => within(address, network))) return true;
    if (address.range() !== 'unicast') return false;
    return address.kind() === 'ipv6' ? within(address, globalUnicast) : !within(address, azureHost);
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
  // Only the complete forms: ipaddr.js would also take "127.1", which a resolver may read otherwise.
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
