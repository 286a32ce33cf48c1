import { createServer, request as forward } from 'node:http';
import type { AddressInfo } from 'node:net';

/** The public address of the reader's server: leads to the port of the sample that runs. */
export interface Front {
  /** For `integratorUrl`. */
  readonly url: string;
  /** Where a sample's own server listens. */
  readonly port: number;
  close(): Promise<void>;
}

/**
 * Forwards what the platform sends to the sample's own server, as a tunnel does. Where a page has no
 * server, or it has stopped, callbacks are taken with 204: the platform must not come to see the
 * destination as failing, and slow down for the pages that follow.
 */
export async function startFront(): Promise<Front> {
  const port = await freePort();
  const server = createServer((incoming, outgoing) => {
    const pieces: Buffer[] = [];
    incoming.on('data', (piece: Buffer) => pieces.push(piece));
    incoming.on('end', () => {
      const { method, url, headers } = incoming;
      const onward = forward({ host: '127.0.0.1', port, method, path: url, headers }, (answer) => {
        outgoing.writeHead(answer.statusCode ?? 502, answer.headers);
        answer.pipe(outgoing);
      });
      onward.on('error', () => {
        if (!outgoing.headersSent) outgoing.writeHead(204);
        outgoing.end();
      });
      onward.end(Buffer.concat(pieces));
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/callbacks`,
    port,
    async close() {
      server.closeAllConnections();
      await new Promise<void>((resolve) => server.close(() => resolve()));
    },
  };
}

export async function freePort(): Promise<number> {
  const probe = createServer();
  await new Promise<void>((resolve) => probe.listen(0, '127.0.0.1', resolve));
  const { port } = probe.address() as AddressInfo;
  await new Promise<void>((resolve) => probe.close(() => resolve()));
  return port;
}
