import { randomInt } from 'node:crypto';
import { createServer } from 'node:net';

/**
 * Range of ports below the ephemeral ports. An outgoing connection could take an ephemeral port before the port's
 * server listens, or while the server restarts. `TEST_PORTS` ("FROM-TO") sets a smaller range: give concurrent test
 * runs separate ranges.
 */
const range = rangeOf(process.env['TEST_PORTS'] || '15000-29999');

function rangeOf(text: string): { readonly from: number; readonly to: number } {
  const [, from = '', to = ''] = /^(\d{4,5})-(\d{4,5})$/.exec(text) ?? [];
  if (from === '' || Number(from) >= Number(to)) throw new Error(`TEST_PORTS: "${text}" is not FROM-TO.`);
  return { from: Number(from), to: Number(to) + 1 };
}

/** Ports that were returned before. Their users may not listen yet. */
const given = new Set<number>();

/**
 * Returns different free ports that this process has not returned before. Throws an Error if the range has no more of
 * them.
 */
export async function freePorts(count: number): Promise<number[]> {
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
}

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
