import { createServer, request as forward, type IncomingHttpHeaders } from 'node:http';
import type { AddressInfo } from 'node:net';
import { verifyCallback } from '@headset-cloud/demo/integrator/verify.ts';

/** Tunnel to the reader's server: forwards a public address to the port of the running sample. */
export interface Tunnel {
  /** Public address, for `integratorUrl`. */
  readonly url: string;
  /** Port on which the server of a sample listens. */
  readonly port: number;
  /** Authentication keys to verify test callbacks, if no server of a sample runs. */
  keys: readonly string[];
  /** If true and no server of a sample runs: responds with 410, so that the platform gives up the callback. */
  givesUp: boolean;
  close(): Promise<void>;
}

/**
 * Starts the tunnel. If no server of a sample runs, the tunnel accepts callbacks with 204: otherwise the platform would
 * treat the endpoint as failing and slow down for the following pages. Test callbacks do not count as failures, so the
 * tunnel verifies them and rejects a wrong signature.
 */
export async function startTunnel(): Promise<Tunnel> {
  const port = await freePort();
  const state = { keys: [] as readonly string[], givesUp: false };
  const answerOf = (headers: IncomingHttpHeaders, rawBody: Buffer): readonly [number, string] => {
    if (headers['x-tlpf-test'] === 'true' && !verifyCallback({ headers, rawBody }, state.keys)) {
      return [401, 'wrong signature'];
    }
    return state.givesUp ? [410, 'no such endpoint'] : [204, ''];
  };
  const server = createServer((incoming, outgoing) => {
    const pieces: Buffer[] = [];
    incoming.on('data', (piece: Buffer) => pieces.push(piece));
    incoming.on('end', () => {
      const { method, url, headers } = incoming;
      const body = Buffer.concat(pieces);
      const onward = forward({ host: '127.0.0.1', port, method, path: url, headers }, (answer) => {
        outgoing.writeHead(answer.statusCode ?? 502, answer.headers);
        answer.pipe(outgoing);
      });
      onward.on('error', () => {
        const [status, text] = answerOf(headers, body);
        if (outgoing.headersSent) outgoing.end();
        else outgoing.writeHead(status).end(text);
      });
      onward.end(body);
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return Object.assign(state, {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/callbacks`,
    port,
    async close() {
      server.closeAllConnections();
      await new Promise<void>((resolve) => server.close(() => resolve()));
    },
  });
}

export async function freePort(): Promise<number> {
  const probe = createServer();
  await new Promise<void>((resolve) => probe.listen(0, '127.0.0.1', resolve));
  const { port } = probe.address() as AddressInfo;
  await new Promise<void>((resolve) => probe.close(() => resolve()));
  return port;
}
