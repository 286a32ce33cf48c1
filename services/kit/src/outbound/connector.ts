import { isIP, type LookupFunction } from 'node:net';
import { buildConnector } from 'undici';
import type { AddressRules } from './address-rules.ts';
import type { Resolve } from './resolve.ts';

/** A destination's address is not public and not allowed by configuration. */
export class RefusedAddressError extends Error {
  override readonly name = 'RefusedAddressError';
  readonly code = 'ADDRESS_REFUSED';
  constructor() {
    // The message omits the address, because it is shown to operators and stored with the delivery.
    super('the address is not public');
  }
}

/**
 * Connects only to addresses that the rules allow. The address is judged where it is used: the
 * look-up hands the socket nothing but judged addresses, so that a name cannot be public when it is
 * checked and internal when it is used (DNS rebinding). TLS verifies certificates, as Node does by
 * default, against the host's name.
 */
export function createConnector(options: {
  rules: AddressRules;
  resolve: Resolve;
  connectTimeoutMs: number;
  /** More certificates to trust, beside the system's; for tests with their own authority. */
  ca?: string;
}): buildConnector.connector {
  const { rules, resolve } = options;
  const judgedLookup: LookupFunction = (hostname, lookupOptions, callback) => {
    resolve(hostname).then(
      (addresses) => {
        const entries = addresses
          .filter((address) => rules.allows(address))
          .map((address) => ({ address, family: isIP(address) }));
        const [first] = entries;
        if (!first) callback(new RefusedAddressError(), [], 0);
        else if (lookupOptions.all) callback(null, entries);
        else callback(null, first.address, first.family);
      },
      (error) => callback(error as NodeJS.ErrnoException, [], 0),
    );
  };
  const connect = buildConnector({
    timeout: options.connectTimeoutMs,
    lookup: judgedLookup,
    allowH2: false,
    ...(options.ca && { ca: options.ca }),
  });
  return (target, callback) => {
    const literal = target.hostname.replace(/^\[(.*)\]$/, '$1');
    // A literal address is never looked up.
    if (isIP(literal) && !rules.allows(literal)) {
      callback(new RefusedAddressError(), null);
      return;
    }
    connect(target, (...answer) => {
      const [error, socket] = answer;
      // However the socket was connected, its peer must not be a refused address.
      if (!error && socket.remoteAddress && !rules.allows(socket.remoteAddress)) {
        socket.destroy();
        callback(new RefusedAddressError(), null);
      } else callback(...answer);
    });
  };
}
