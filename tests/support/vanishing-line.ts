import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { connect, createServer, type Socket } from 'node:net';

/** A network path that can fail silently: bytes are lost, and neither end gets an error. */
export interface VanishingLine {
  /** host:port to connect to instead of the target. */
  readonly address: string;
  /** Number of forwarded connections so far. */
  readonly connections: number;
  /** host:port to which new connections are forwarded. */
  target: string;
  /** Fails the path: open connections stay silent, and new connections fail at once. */
  vanish(): void;
  /** Repairs the path for new connections. Older connections stay silent: neither bytes nor their end are forwarded. */
  comeBack(): void;
  close(): Promise<void>;
}

/** Starts a path on a free port of the loopback address. */
export async function startVanishingLine(target: string): Promise<VanishingLine> {
  const sockets = new Set<Socket>();
  /** Forwarded pairs of sockets. A pair that is not in this set is silent. */
  const alive = new Set<readonly Socket[]>();
  let away = false;
  let connections = 0;

  const keep = (socket: Socket): Socket => {
    sockets.add(socket);
    return socket.on('error', () => {}).on('close', () => sockets.delete(socket));
  };
  const server = createServer((inner) => {
    keep(inner);
    if (away) {
      inner.destroy();
      return;
    }
    connections += 1;
    const [host = '', port = ''] = line.target.split(':');
    const outer = keep(connect(Number(port), host));
    const pair = [inner, outer];
    alive.add(pair);
    for (const [from, to] of [pair, pair.toReversed()] as [Socket, Socket][]) {
      from.on('data', (bytes) => {
        if (alive.has(pair)) to.write(bytes);
      });
      from.on('close', () => {
        if (alive.delete(pair)) to.destroy();
      });
    }
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');

  const line: VanishingLine = {
    address: `127.0.0.1:${(server.address() as AddressInfo).port}`,
    get connections() {
      return connections;
    },
    target,
    vanish() {
      away = true;
      alive.clear();
    },
    comeBack() {
      away = false;
    },
    async close() {
      server.close();
      alive.clear();
      for (const socket of sockets) socket.destroy();
    },
  };
  return line;
}
