import { once } from 'node:events';
import type { Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { ListenAddress } from './config.ts';

/**
 * Makes an HTTP server listen and returns its port. When it cannot listen, the error says what to do; `key`
 * is the configuration key of the address.
 */
export async function listenOn(server: Server, { host, port }: ListenAddress, key: string): Promise<number> {
  server.listen(port, host);
  try {
    await once(server, 'listening');
  } catch (error) {
    throw new Error(
      `cannot listen on ${host}:${port}: ${(error as Error).message}. ` +
        `Stop what uses the port, or choose another ${key}.`,
      { cause: error },
    );
  }
  return portOf(server);
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
