import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';

/** An integrator's server that stores only the number and outcome of callbacks by path. */
export interface Sink {
  readonly origin: string;
  count(path: string): number;
  /** Returns transactions whose success callback was sent to a path. */
  succeeded(path: string): ReadonlySet<number>;
  close(): Promise<void>;
}

/** Starts the server. Only paths in `remembered` keep their successful transactions, to limit memory. */
export async function startSink(remembered: readonly string[]): Promise<Sink> {
  const counts = new Map<string, number>();
  const succeeded = new Map(remembered.map((path) => [path, new Set<number>()]));
  const server = createServer((request, response) => {
    const path = request.url ?? '';
    const parts: Buffer[] = [];
    request.on('error', () => {});
    request.on('data', (part: Buffer) => succeeded.has(path) && parts.push(part));
    request.on('end', () => {
      if (counts.has(path) || counts.size < 100) counts.set(path, (counts.get(path) ?? 0) + 1);
      const of = succeeded.get(path);
      const body = of && JSON.parse(Buffer.concat(parts).toString('utf8'));
      if (body?.notificationType === 'processed' && body.result === 'success') of?.add(body.transactionId);
      response.writeHead(204).end();
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    origin: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    count: (path) => counts.get(path) ?? 0,
    succeeded: (path) => succeeded.get(path) ?? new Set(),
    async close() {
      server.closeAllConnections();
      await new Promise<void>((resolve) => server.close(() => resolve()));
    },
  };
}
