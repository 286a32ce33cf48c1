import { once } from 'node:events';
import { createServer, get, type Server } from 'node:http';
import { type AddressInfo, BlockList, connect, type Socket } from 'node:net';
import { afterEach, expect, it } from '@jest/globals';
import { Connections, type RejectionReason } from './connections.ts';
import { limitConnections, listenerTimes } from './http-listener.ts';

const none = new BlockList();
const loopback = new BlockList();
loopback.addAddress('127.0.0.1');

let server: Server;
const sockets: Socket[] = [];
const rejected: RejectionReason[] = [];

afterEach(async () => {
  for (const socket of sockets.splice(0)) socket.destroy();
  rejected.length = 0;
  if (!server?.listening) return;
  server.closeAllConnections();
  server.close();
  await once(server, 'close');
});

interface Listener {
  readonly connections: Connections;
  readonly port: number;
  /** Resolves when this many requests for /slow have arrived. */
  readonly asked: (many: number) => Promise<void>;
  /** Answers the waiting requests. */
  readonly answer: () => void;
}

/** A listener that may replace connections at once. */
async function open(most: number, mostOfAddress = most, proxies = none): Promise<Listener> {
  const waiting: (() => void)[] = [];
  server = createServer(listenerTimes, (request, response) => {
    if (request.url === '/slow') waiting.push(() => response.end('late'));
    else response.end('ok');
  });
  const connections = limitConnections(
    server,
    { most, mostOfAddress, proxies },
    (why) => rejected.push(why),
    { youngMs: 0 },
  );
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    connections,
    port: (server.address() as AddressInfo).port,
    asked: async (many) => {
      while (waiting.length < many) await new Promise((resolve) => setImmediate(resolve));
    },
    answer: () => {
      for (const one of waiting.splice(0)) one();
    },
  };
}

/** Opens a connection; returns it with the promise of its end. */
async function dial(port: number, first = ''): Promise<{ socket: Socket; closed: Promise<unknown> }> {
  const socket = connect(port, '127.0.0.1');
  sockets.push(socket);
  const closed = new Promise((resolve) => socket.once('close', resolve));
  socket.on('error', () => {});
  socket.resume();
  await once(socket, 'connect');
  if (first) socket.write(first);
  return { socket, closed };
}

const ask = (port: number, path = '/', agent: false | undefined = false) =>
  new Promise<number | string>((resolve) => {
    get({ port, path, host: '127.0.0.1', agent }, (response) => {
      response.resume();
      response.once('end', () => resolve(response.statusCode ?? 0));
    }).once('error', (error: NodeJS.ErrnoException) => resolve(error.code ?? error.message));
  });

const counted = async (connections: Connections, size: number) => {
  while (connections.size !== size) await new Promise((resolve) => setImmediate(resolve));
};

// protects against rest/crowd
it('a thousand silent connections, or connections with half a header, do not lock out other clients', async () => {
  const { connections, port } = await open(50);
  for (let i = 0; i < 1000; i += 50) {
    await Promise.all(
      Array.from({ length: 50 }, (_, n) => dial(port, n % 2 ? 'GET / HTTP/1.1\r\nhost: a\r\nx: ' : '')),
    );
  }
  expect(connections.size).toBeLessThanOrEqual(50);
  expect(await Promise.all(Array.from({ length: 20 }, () => ask(port)))).toEqual(Array(20).fill(200));
  expect(new Set(rejected)).toEqual(new Set(['replaced']));
});

it('replaces the oldest connection without a request first, then the connection idle longest', async () => {
  const { connections, port } = await open(3);
  const kept = await dial(port, 'GET / HTTP/1.1\r\nhost: a\r\n\r\n');
  await once(kept.socket, 'data');
  const [first, second] = [await dial(port), await dial(port)];
  await counted(connections, 3);
  await dial(port, 'GET /slow HTTP/1.1\r\nhost: a\r\n\r\n');
  await first.closed;
  await dial(port, 'GET /slow HTTP/1.1\r\nhost: a\r\n\r\n');
  await second.closed;
  expect(kept.socket.destroyed).toBe(false);
  await dial(port, 'GET /slow HTTP/1.1\r\nhost: a\r\n\r\n');
  await kept.closed;
});

it('never interrupts a request in progress: if all connections have one, the new connection is closed', async () => {
  const { port, asked, answer } = await open(2, 100);
  const slow = [ask(port, '/slow'), ask(port, '/slow')];
  await asked(2);
  const late = await dial(port);
  await late.closed;
  expect(rejected).toEqual(['full']);
  answer();
  expect(await Promise.all(slow)).toEqual([200, 200]);
  expect(await ask(port)).toBe(200);
});

it('each address has a limit, except trusted proxies', async () => {
  const one = await open(10, 2);
  const slow = [ask(one.port, '/slow'), ask(one.port, '/slow')];
  await one.asked(2);
  await (await dial(one.port)).closed;
  expect(rejected).toEqual(['address']);
  one.answer();
  await Promise.all(slow);
  server.closeAllConnections();
  server.close();
  await once(server, 'close');
  const other = await open(10, 2, loopback);
  const many = Array.from({ length: 5 }, () => ask(other.port, '/slow'));
  await other.asked(5);
  other.answer();
  expect(await Promise.all(many)).toEqual(Array(5).fill(200));
});

it('a new connection is not replaced within its first second', async () => {
  let nowMs = 0;
  const closed: string[] = [];
  const socketOf = (name: string) =>
    ({
      remoteAddress: '192.0.2.1',
      remoteFamily: 'IPv4',
      once: () => {},
      destroy: () => closed.push(name),
    }) as unknown as Socket;
  const connections = new Connections({ most: 1, mostOfAddress: 1, proxies: none }, () => {}, {
    clock: { now: () => nowMs },
    youngMs: 1000,
  });
  expect(connections.admit(socketOf('first'))).toBe(true);
  nowMs = 900;
  expect(connections.admit(socketOf('second'))).toBe(false);
  nowMs = 1000;
  expect(connections.admit(socketOf('third'))).toBe(true);
  expect(closed).toEqual(['second', 'first']);
  expect(connections.size).toBe(1);
});

it('a request with an endless header gets an answer in time', async () => {
  server = createServer({ ...listenerTimes, headersTimeout: 100, connectionsCheckingInterval: 20 }, () => {});
  limitConnections(server);
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { closed } = await dial((server.address() as AddressInfo).port, 'GET / HTTP/1.1\r\nhost: a\r\nx: ');
  await closed;
});

// protects against rest/pipelining
it('allows 16 requests in progress per connection and a thousand pipelined requests in all; further requests get 503 with Retry-After', async () => {
  const { port, asked, answer } = await open(200);
  const slow = (many: number) => 'GET /slow HTTP/1.1\r\nhost: a\r\n\r\n'.repeat(many);
  const greedy = await dial(port, slow(1000));
  let text = '';
  greedy.socket.setEncoding('latin1').on('data', (part: string) => {
    text += part;
  });
  await asked(16);
  // The first request of a connection is always served, whatever other connections have in progress.
  expect(await ask(port)).toBe(200);
  answer();
  await greedy.closed;
  expect(text.match(/HTTP\/1.1 200/g)).toHaveLength(16);
  expect(text.match(/HTTP\/1.1 503/g)).toHaveLength(1);
  expect(text).toContain('Retry-After: 1\r\n');
  expect(new Set(rejected)).toEqual(new Set(['pipelined']));

  await Promise.all(Array.from({ length: 100 }, () => dial(port, slow(16))));
  await asked(1100);
  expect(await ask(port)).toBe(200);
  // The requests end, or their connections do: there is capacity again.
  for (const socket of sockets.splice(0)) socket.destroy();
  answer();
  const next = await dial(port, slow(16));
  await asked(16);
  answer();
  next.socket.destroy();
});
