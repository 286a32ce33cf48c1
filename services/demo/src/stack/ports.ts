import { randomInt } from 'node:crypto';
import { createServer } from 'node:net';

function rangeOf(text: string): { readonly from: number; readonly to: number } {
  const [, from = '', to = ''] = /^(\d{4,5})-(\d{4,5})$/.exec(text) ?? [];
  if (from === '' || Number(from) >= Number(to)) throw new Error(`TEST_PORTS: "${text}" is not FROM-TO.`);
  return { from: Number(from), to: Number(to) + 1 };
}

/**
 * Returns a function that chooses free ports of a range ("FROM-TO"). Each call returns different ports, none of which
 * was returned before. The function throws an Error if the range has no more of them.
 */
export function portsOf(text: string): (count: number) => Promise<number[]> {
  const range = rangeOf(text);
  /** Ports that were returned before. Their users may not listen yet. */
  const given = new Set<number>();
  return async (count) => {
    const chosen: number[] = [];
    while (chosen.length < count) {
      if (given.size >= range.to - range.from) {
        throw new Error(
          `No port of the range ${range.from}-${range.to - 1} is left. Set TEST_PORTS to a larger or another range.`,
        );
      }
      const port = randomInt(range.from, range.to);
      if (given.has(port)) continue;
      given.add(port);
      if (await isFree(port)) chosen.push(port);
    }
    return chosen;
  };
}

/**
 * Chooses ports below the ephemeral ports: an outgoing connection could take an ephemeral port before the port's server
 * listens, or while the server restarts. `TEST_PORTS` ("FROM-TO") sets a smaller range: give concurrent test runs
 * separate ranges.
 */
export const freePorts = portsOf(process.env['TEST_PORTS'] || '15000-29999');

/** Returns one free port, like `freePorts`. */
export async function freePort(): Promise<number> {
  const [port = 0] = await freePorts(1);
  return port;
}

/** Whether no process listens on this port of the loopback address. */
export function isFree(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const server = createServer();
    server.once('error', () => resolve(false));
    server.listen(port, '127.0.0.1', () => server.close(() => resolve(true)));
  });
}
