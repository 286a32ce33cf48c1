import { once } from 'node:events';
import type { IncomingMessage, Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { systemTime, type Time } from './clock.ts';
import { addressText, type ListenAddress } from './config.ts';

/**
 * Makes an HTTP server listen and returns its port. The server's request listeners, registered before, get every target
 * in origin form. If the server cannot listen, the error says how to fix it; `key` is the address's configuration key.
 */
export async function listenOn(server: Server, { host, port }: ListenAddress, key: string): Promise<number> {
  for (const event of ['request', 'checkContinue', 'checkExpectation'] as const) {
    // A listener for one of the other two events changes the default behaviour of Node.js.
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
  // Without the header the request stays invalid.
  if (request.headers.host !== undefined) request.headers.host = host;
}

/** The port that a server listens on; 0 when it does not. */
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

/** How often connections that became idle are closed; milliseconds. */
const idleCheckMs = 100;

/**
 * Stops accepting connections and closes each one when its requests are answered; closes what is left after `forMs`.
 * Resolves when all are closed.
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
