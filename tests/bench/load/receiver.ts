import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { verifyCallback } from '@headset-cloud/demo/integrator/verify.ts';

/** The integrator's side of a job: receives callbacks, verifies both signatures, counts each id once. */
export interface Receiver {
  readonly url: string;
  /** Authentication keys; can be added while it runs. */
  readonly keys: string[];
  /** Number of arrivals whose signatures did not match. */
  readonly refused: number;
  /** Number of accepted callbacks, without repeats. */
  readonly taken: number;
  /** Number of verified callbacks without a transaction: the headsets' own reports. */
  readonly reports: number;
  /** Resolves when the processed callback of a transaction has been received and verified. */
  processed(transactionId: number): Promise<void>;
  /** Number of transactions with only one of the two callbacks (accepted, processed). */
  halves(): number;
  close(): Promise<void>;
}

interface Seen {
  accepted: boolean;
  processed: boolean;
  resolve?: () => void;
}

export async function startReceiver(): Promise<Receiver> {
  const keys: string[] = [];
  const transactions = new Map<number, Seen>();
  let refused = 0;
  let taken = 0;
  let reports = 0;
  const seenOf = (id: number): Seen => {
    let seen = transactions.get(id);
    if (!seen) {
      seen = { accepted: false, processed: false };
      transactions.set(id, seen);
    }
    return seen;
  };
  const take = (request: IncomingMessage, response: ServerResponse, rawBody: Buffer): void => {
    if (!verifyCallback({ headers: request.headers, rawBody }, keys)) {
      refused += 1;
      response.writeHead(401).end();
      return;
    }
    const body = JSON.parse(rawBody.toString('utf8'));
    if (typeof body.transactionId !== 'number') {
      // In addition to the expected reports, one of the network status if the preparation took longer than a minute.
      reports += 1;
      response.writeHead(204).end();
      return;
    }
    const seen = seenOf(body.transactionId);
    const kind = body.notificationType === 'processed' ? 'processed' : 'accepted';
    if (!seen[kind]) {
      seen[kind] = true;
      taken += 1;
      if (kind === 'processed') seen.resolve?.();
    }
    response.writeHead(204).end();
  };
  const server = createServer((request, response) => {
    const parts: Buffer[] = [];
    request.on('data', (part: Buffer) => parts.push(part));
    request.on('end', () => take(request, response, Buffer.concat(parts)));
  });
  server.keepAliveTimeout = 60_000;
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/callbacks`,
    keys,
    get refused() {
      return refused;
    },
    get taken() {
      return taken;
    },
    get reports() {
      return reports;
    },
    processed(transactionId) {
      const seen = seenOf(transactionId);
      if (seen.processed) return Promise.resolve();
      return new Promise((resolve) => {
        seen.resolve = resolve;
      });
    },
    halves: () => [...transactions.values()].filter((seen) => !(seen.accepted && seen.processed)).length,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}
