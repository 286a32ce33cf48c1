import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { preciseNow } from '../lib/notifications.ts';
import { serveCommands } from '../lib/worker.ts';

/** Endpoints of integrators, each on its own port; some never answer. */
let arrived = 0;
let times: number[] = [];
const waiting = new Set<() => void>();

async function listen(answers: boolean): Promise<string> {
  const server = createServer((request, response) => {
    const parts: Buffer[] = [];
    request.on('data', (part: Buffer) => parts.push(part));
    request.on('end', () => {
      if (!answers) return;
      response.writeHead(204).end();
      arrived += 1;
      const { sentAtMs } = JSON.parse(Buffer.concat(parts).toString('utf8'));
      times.push(preciseNow() - sentAtMs);
      for (const look of waiting) look();
    });
  });
  server.keepAliveTimeout = 60_000;
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}/callbacks`;
}

const commands = {
  open: async (o: { healthy: number; hanging: number }) => ({
    healthy: await Promise.all(Array.from({ length: o.healthy }, () => listen(true))),
    hanging: await Promise.all(Array.from({ length: o.hanging }, () => listen(false))),
  }),
  /** Resets the counts. */
  reset: async (_: object) => {
    arrived = 0;
    times = [];
  },
  /** Resolves when this many callbacks have come since the reset. */
  arrived: (count: number) =>
    new Promise<void>((resolve) => {
      const look = () => {
        if (arrived < count) return;
        waiting.delete(look);
        resolve();
      };
      waiting.add(look);
      look();
    }),
  /** Milliseconds from publishing to arrival, in ascending order. */
  times: async (_: object) => times.sort((a, b) => a - b),
};
export type Sink = typeof commands;
serveCommands(commands);
