import { randomInt } from 'node:crypto';
import { createServer } from 'node:net';

/**
 * Below the range of ephemeral ports, because an outgoing connection may take a port of that range between
 * the choice and the use, or while its server restarts. `TEST_PORTS` ("FROM-TO") narrows it: what runs at the same
 * time does not take the ports of servers that are just restarting, if each has a range of its own.
 */
const range = rangeOf(process.env['TEST_PORTS'] || '15000-29999');

function rangeOf(text: string): { readonly from: number; readonly to: number } {
  const [, from = '', to = ''] = /^(\d{4,5})-(\d{4,5})$/.exec(text) ?? [];
  if (from === '' || Number(from) >= Number(to)) throw new Error(`TEST_PORTS: "${text}" is not FROM-TO.`);
  return { from: Number(from), to: Number(to) + 1 };
}

/** Ports given out before; their users may not listen yet. */
const given = new Set<number>();

/** Ports that were free a moment ago: all different, and different from those that this process got before. */
export async function freePorts(count: number): Promise<number[]> {
  const chosen: number[] = [];
  while (chosen.length < count) {
    const port = randomInt(range.from, range.to);
    if (given.has(port)) continue;
    given.add(port);
    if (await isFree(port)) chosen.push(port);
  }
  return chosen;
}

/** One such port. */
export async function freePort(): Promise<number> {
  const [port = 0] = await freePorts(1);
  return port;
}

/** True when nothing listens there on this machine's loopback. */
export function isFree(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const server = createServer();
    server.once('error', () => resolve(false));
    server.listen(port, '127.0.0.1', () => server.close(() => resolve(true)));
  });
}
