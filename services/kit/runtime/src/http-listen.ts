import { once } from 'node:events';
import type { IncomingMessage, Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { systemTime, type Time } from './clock.ts';
import { addressText, type ListenAddress } from './config.ts';

/**
 * Makes an HTTP server listen and returns its port. The request listeners must be registered before; they get every
 * target in origin form. If the server cannot listen, the error explains how to fix it. `key`: the setting of the
 * address.
 */
export async function listenOn(server: Server, { host, port }: ListenAddress, key: string): Promise<number> {
  for (const event of ['request', 'checkContinue', 'checkExpectation'] as const) {
    // Adds no first listener for `checkContinue` or `checkExpectation`, which would change Node's default behavior.
    if (server.listenerCount(event) > 0) server.prependListener(event, useOriginForm);
  }
  server.listen(port, host);
  try {
    await once(server, 'listening');
  } catch (error) {
    throw new Error(
      `cannot listen on ${addressText({ host, port })}: ${(error as Error).message}. ` +
        `Stop what uses the port, or choose another ${key}.`,
      { cause: error },
    );
  }
  return portOf(server);
}

/**
 * Changes an absolute-form target (`GET http://host/path`), which every server must accept (RFC 9112 3.2.2), to the
 * origin form `/path`. The target's host replaces the header Host.
 */
function useOriginForm(request: IncomingMessage): void {
  const absolute = /^https?:\/\/([^/?#]+)(.*)$/i.exec(request.url ?? '');
  if (!absolute) return;
  const [, host = '', rest = ''] = absolute;
  request.url = rest.startsWith('/') ? rest : `/${rest}`;
  // A request without Host stays invalid, so no header is added.
  if (request.headers.host !== undefined) request.headers.host = host;
}

/** The port on which a server listens; 0 if it does not listen. */
export function portOf(server: Server | undefined): number {
  return (server?.address() as AddressInfo | null)?.port ?? 0;
}

/** Stops accepting connections and closes the open ones. Resolves when all are closed. */
export async function closeNow(server: Server | undefined): Promise<void> {
  if (!server?.listening) return;
  const closed = once(server, 'close');
  server.close();
  server.closeAllConnections();
  await closed;
}

/** Interval at which idle connections are closed during a stop; milliseconds. */
const idleCheckMs = 100;

/**
 * Stops accepting connections, and closes each connection when its requests are answered. After `forMs`, closes the
 * other connections. Resolves when all connections are closed.
 */
export async function closeWithin(
  server: Server | undefined,
  forMs: number,
  time: Time = systemTime,
): Promise<void> {
  if (!server?.listening) return;
  const closed = once(server, 'close');
  server.close();
  const idle = time.setInterval(() => server.closeIdleConnections(), idleCheckMs);
  const late = time.setTimeout(() => server.closeAllConnections(), forMs);
  await closed;
  time.clearTimer(idle);
  time.clearTimer(late);
}
