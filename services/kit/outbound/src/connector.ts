import { isIP, type LookupFunction, type Socket } from 'node:net';
import { systemTime, type Time } from '@headset-cloud/runtime/clock.ts';
import { buildConnector } from 'undici';
import type { AddressRules } from './address-rules.ts';
import { withoutInterimAnswers } from './interim-answers.ts';
import type { Resolve } from './resolve.ts';
import { type EgressProxy, EgressProxyError, openTunnel } from './tunnel.ts';

/** Error for a host whose address is neither public nor allowed by the configuration. */
export class RefusedAddressError extends Error {
  override readonly name = 'RefusedAddressError';
  readonly code = 'ADDRESS_REFUSED';
  constructor() {
    // The message omits the address: operators read it, and it is stored with the delivery.
    super('the address is not public');
  }
}

export interface ConnectorOptions {
  /** Time limit for a usable connection, including DNS lookup, proxy and TLS; milliseconds. */
  readonly connectTimeoutMs: number;
  /** Undefined: connections are direct. */
  readonly proxy?: EgressProxy | undefined;
  /** Trusted certificates in addition to the system's; for tests with their own authority. */
  readonly ca?: string;
  readonly time?: Time;
}

/** Options of a connector for hosts that integrators choose. */
export interface CheckedOptions extends ConnectorOptions {
  readonly rules: Pick<AddressRules, 'allows'>;
  readonly resolve: Resolve;
}

type Connector = buildConnector.connector;

/**
 * Connects only to addresses that the rules allow. The check happens at the use of the address: the DNS lookup returns
 * only checked addresses to the socket or the egress proxy. So a name cannot resolve to a public address for the check
 * and to an internal address for the connection (DNS rebinding). TLS verifies certificates, as Node does by default,
 * against the host's name, also through the proxy (ADR 0036).
 */
export function createConnector(options: CheckedOptions): Connector {
  const { rules, resolve, proxy } = options;
  const checkedAddresses = async (hostname: string): Promise<string[]> => {
    const addresses = (await resolve(hostname)).filter((address) => rules.allows(address));
    if (addresses.length === 0) throw new RefusedAddressError();
    return addresses;
  };
  const direct = checkedDirect(options, checkedAddresses);
  return proxy ? throughProxy(proxy, options, direct, checkedAddresses) : direct;
}

/** Connects to hosts that the operators have configured; the egress proxy resolves their names. */
export function createConfiguredConnector(options: ConnectorOptions): Connector {
  const { proxy } = options;
  const direct = plain(options);
  return proxy ? throughProxy(proxy, options, direct, async (hostname) => [hostname]) : direct;
}

function plain({ connectTimeoutMs, ca }: ConnectorOptions, lookup?: LookupFunction): Connector {
  return withoutInterimAnswers(
    buildConnector({
      timeout: connectTimeoutMs,
      allowH2: false,
      ...(lookup && { lookup }),
      ...(ca && { ca }),
    }),
  );
}

function checkedDirect(
  options: CheckedOptions,
  checkedAddresses: (hostname: string) => Promise<readonly string[]>,
): Connector {
  const { rules } = options;
  const connect = plain(options, (hostname, lookupOptions, callback) => {
    checkedAddresses(hostname).then(
      (addresses) => {
        const entries = addresses.map((address) => ({ address, family: isIP(address) }));
        const [first] = entries as [{ address: string; family: number }];
        if (lookupOptions.all) callback(null, entries);
        else callback(null, first.address, first.family);
      },
      (error) => callback(error as NodeJS.ErrnoException, [], 0),
    );
  });
  return (target, callback) => {
    const literal = plainHost(target.hostname);
    // A literal address needs no DNS lookup.
    if (isIP(literal) && !rules.allows(literal)) {
      callback(new RefusedAddressError(), null);
      return;
    }
    connect(target, (...answer) => {
      const [error, socket] = answer;
      // Checks the connected address again, so that no way of connecting bypasses the rules.
      if (!error && socket.remoteAddress && !rules.allows(socket.remoteAddress)) {
        socket.destroy();
        callback(new RefusedAddressError(), null);
      } else callback(...answer);
    });
  };
}

/** Maximum number of addresses of a host that are requested from the proxy, one after the other. */
const maxAddresses = 3;

/**
 * Connects through the proxy; hosts that bypass it are connected by `direct`. `addressesOf` returns the addresses of a
 * host to request from the proxy.
 */
function throughProxy(
  proxy: EgressProxy,
  options: ConnectorOptions,
  direct: Connector,
  addressesOf: (hostname: string) => Promise<readonly string[]>,
): Connector {
  const { connectTimeoutMs, time = systemTime } = options;
  const secure = plain(options);

  async function tunnel(hostname: string, port: number, endsAtMs: number): Promise<Socket> {
    const hosts = (await addressesOf(hostname)).slice(0, maxAddresses);
    let problem: unknown;
    for (const [index, host] of hosts.entries()) {
      // Divides the remaining time among the remaining addresses, because an address may not answer.
      const restMs = Math.max(1, (endsAtMs - time.monotonicNow()) / (hosts.length - index));
      try {
        return await openTunnel(proxy, { host, port }, Math.ceil(restMs), time);
      } catch (error) {
        problem = error;
        if (!(error instanceof EgressProxyError && error.aboutAddress)) break;
      }
    }
    throw problem;
  }

  return (target, callback) => {
    const hostname = plainHost(target.hostname);
    if (proxy.bypass(hostname)) {
      direct(target, callback);
      return;
    }
    const https = target.protocol === 'https:';
    const port = Number(target.port) || (https ? 443 : 80);
    let socket: Socket | undefined;
    let settled = false;
    const settle: buildConnector.Callback = (...answer) => {
      time.clearTimer(timer);
      if (settled) answer[1]?.destroy();
      else {
        settled = true;
        callback(...answer);
      }
    };
    // Reports the timeout to the caller. The connector `secure` has its own timeout, which destroys the socket.
    const timer = time.setTimeout(() => {
      const within = `within ${connectTimeoutMs} ms`;
      settle(
        socket
          ? new Error(`no TLS handshake ${within}, through the egress proxy`)
          : new EgressProxyError(`opened no tunnel ${within}`),
        null,
      );
    }, connectTimeoutMs);
    tunnel(hostname, port, time.monotonicNow() + connectTimeoutMs).then(
      (opened) => {
        socket = opened;
        if (settled) opened.destroy();
        else if (https) secure({ ...target, httpSocket: opened }, settle);
        else settle(null, opened);
      },
      (error) => settle(error as Error, null),
    );
  };
}

function plainHost(hostname: string): string {
  return hostname.replace(/^\[(.*)\]$/, '$1');
}
