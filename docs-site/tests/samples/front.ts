import { createServer, request as forward, type IncomingHttpHeaders } from 'node:http';
import type { AddressInfo } from 'node:net';
import { verifyCallback } from '@headset-cloud/demo/integrator/verify.ts';

/** The public address of the reader's server: leads to the port of the sample that runs. */
export interface Front {
  /** For `integratorUrl`. */
  readonly url: string;
  /** Where a sample's own server listens. */
  readonly port: number;
  /** Authentication keys by which test callbacks are judged where a page has no server. */
  keys: readonly string[];
  /** Where a page has no server, each callback is answered 410, which gives it up. */
  isGone: boolean;
  close(): Promise<void>;
}

/**
 * Forwards what the platform sends to the sample's own server, as a tunnel does. Where a page has no
 * server, or it has stopped, callbacks are taken with 204: the platform must not come to see the
 * destination as failing, and slow down for the pages that follow. Test callbacks, which have no part in
 * that, are answered as by a server that verifies.
 */
export async function startFront(): Promise<Front> {
  const port = await freePort();
  const judged = { keys: [] as readonly string[], isGone: false };
  const answerOf = (headers: IncomingHttpHeaders, rawBody: Buffer): readonly [number, string] => {
    if (headers['x-tlpf-test'] === 'true' && !verifyCallback({ headers, rawBody }, judged.keys)) {
      return [401, 'wrong signature'];
    }
    return judged.isGone ? [410, 'no such endpoint'] : [204, ''];
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
  return Object.assign(judged, {
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
