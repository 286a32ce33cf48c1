import { isIPv6, type Socket } from 'node:net';
import { systemTime, type Time } from '@headset-cloud/runtime/clock.ts';
import { buildConnector, Client } from 'undici';
import { withoutInterimAnswers } from './interim-answers.ts';
import type { Bypass } from './no-proxy.ts';

/** An HTTP proxy that opens tunnels by CONNECT. */
export interface EgressProxy {
  /** http://host:port, or https:// if the proxy itself uses TLS. */
  readonly origin: string;
  /** The header Proxy-Authorization. */
  readonly authorization?: string;
  readonly bypass: Bypass;
}

/** The proxy opened no tunnel. The message contains the reason, without an address or a credential. */
export class EgressProxyError extends Error {
  override readonly name = 'EgressProxyError';
  readonly code = 'EGRESS_PROXY';
  /** True if the proxy works but cannot connect to this address: another address of the same host may work. */
  readonly aboutAddress: boolean;

  constructor(problem: string, options: { aboutAddress?: boolean; cause?: unknown } = {}) {
    super(`the egress proxy ${problem}`, { cause: options.cause });
    this.aboutAddress = options.aboutAddress ?? false;
  }
}

/**
 * Requests a tunnel to `host` (a name or an address) by CONNECT, and returns the bare socket. Each
 * tunnel uses a separate connection to the proxy. Throws EgressProxyError, after `timeoutMs` at most.
 */
export async function openTunnel(
  proxy: EgressProxy,
  { host, port }: { host: string; port: number },
  timeoutMs: number,
  time: Time = systemTime,
): Promise<Socket> {
  const target = isIPv6(host) ? `[${host}]:${port}` : `${host}:${port}`;
  const client = new Client(proxy.origin, {
    connect: withoutInterimAnswers(buildConnector({ timeout: timeoutMs, allowH2: false })),
  });
  let connected = false;
  client.once('connect', () => {
    connected = true;
  });
  const { promise: late, reject } = Promise.withResolvers<never>();
  const timer = time.setTimeout(
    // If the proxy is connected, it may be waiting for an address that does not answer.
    () =>
      reject(new EgressProxyError(`opened no tunnel within ${timeoutMs} ms`, { aboutAddress: connected })),
    timeoutMs,
  );
  const headers = {
    host: target,
    ...(proxy.authorization && { 'proxy-authorization': proxy.authorization }),
  };
  try {
    const answer = client.connect({ path: target, headers });
    // Prevents an unhandled rejection after the timeout.
    answer.catch(() => {});
    const { statusCode, socket } = await Promise.race([answer, late]);
    if (statusCode >= 200 && statusCode < 300) return socket as Socket;
    socket.on('error', () => {}).destroy();
    throw refusal(statusCode);
  } catch (error) {
    throw error instanceof EgressProxyError ? error : failure(error, connected);
  } finally {
    time.clearTimer(timer);
    // Does not close a tunnel: its socket no longer belongs to the client.
    client.destroy().catch(() => {});
  }
}

function refusal(statusCode: number): EgressProxyError {
  if (statusCode === 407) return new EgressProxyError('demands other credentials (407)');
  const problem =
    statusCode === 403 ? 'refuses this destination (403)' : `answered ${statusCode} instead of a tunnel`;
  return new EgressProxyError(problem, { aboutAddress: true });
}

function failure(error: unknown, connected: boolean): EgressProxyError {
  const { code, name } = error as NodeJS.ErrnoException;
  const options = { cause: error };
  if (!connected) return new EgressProxyError(`cannot be reached (${code ?? name})`, options);
  if (code === 'UND_ERR_SOCKET' || code === 'ECONNRESET')
    return new EgressProxyError('closed the connection without an answer', options);
  return new EgressProxyError(`gave an answer that cannot be read (${code ?? name})`, options);
}
