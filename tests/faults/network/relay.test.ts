import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Server, type Socket } from 'node:net';
import { createFakeTime } from '@headset-cloud/runtime/testing/fake-time.ts';
import { waitFor } from '@headset-cloud/runtime/testing/wait.ts';
import { type Relay, startRelay } from './relay.ts';

/** A connection of a caller or a server, with its received text. */
interface Seen {
  readonly socket: Socket;
  text: string;
  ended: boolean;
  closed: boolean;
}

function watch(socket: Socket): Seen {
  const seen: Seen = { socket, text: '', ended: false, closed: false };
  socket.on('data', (bytes) => {
    seen.text += bytes.toString();
  });
  socket.on('end', () => {
    seen.ended = true;
  });
  socket.on('close', () => {
    seen.closed = true;
  });
  socket.on('error', () => {});
  return seen;
}

let servers: { server: Server; taken: Seen[] }[];
let relay: Relay;
let callers: Seen[];

/** Starts a server that answers all text in capitals. */
async function startEcho(): Promise<{ address: string; taken: Seen[]; server: Server }> {
  const taken: Seen[] = [];
  const server = createServer({ allowHalfOpen: true }, (socket) => {
    taken.push(watch(socket));
    socket.on('data', (bytes) => socket.write(bytes.toString().toUpperCase()));
    socket.on('end', () => socket.end());
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  servers.push({ server, taken });
  return { address: `127.0.0.1:${(server.address() as AddressInfo).port}`, taken, server };
}

async function call(): Promise<Seen> {
  const [host, port] = relay.address.split(':');
  const socket = connect({ host: host as string, port: Number(port), allowHalfOpen: true });
  const seen = watch(socket);
  callers.push(seen);
  await once(socket, 'connect');
  return seen;
}

const until = (what: string, test: () => boolean) => waitFor(what, test, { intervalMs: 2 });

let echo: Awaited<ReturnType<typeof startEcho>>;
beforeEach(async () => {
  servers = [];
  callers = [];
  echo = await startEcho();
  relay = await startRelay([echo.address]);
});
afterEach(async () => {
  await relay.close();
  for (const { socket } of callers) socket.destroy();
  for (const { server, taken } of servers) {
    for (const { socket } of taken) socket.destroy();
    server.close();
  }
});

/** Replaces the relay by a relay with a fake clock. */
async function relayOnFakeTime() {
  const time = createFakeTime();
  await relay.close();
  relay = await startRelay([echo.address], 0, time);
  return time;
}

/** Connects a caller and waits for its first answer. */
async function greeted(): Promise<Seen> {
  const caller = await call();
  caller.socket.write('hello');
  await until('the answer', () => caller.text === 'HELLO');
  return caller;
}

describe('a relay', () => {
  it('forwards bytes and ends in both directions', async () => {
    const caller = await greeted();
    caller.socket.end();
    await until('the end on both sides', () => caller.ended && (echo.taken[0]?.ended ?? false));
    await until('all connections to be closed', () => relay.open === 0);
  });

  it('forwards many bytes in order to a reader that starts slowly', async () => {
    const caller = await call();
    caller.socket.pause();
    const text = Array.from({ length: 200_000 }, (_, i) => `${i % 10}a`).join('');
    caller.socket.write(text);
    await until('the server to have all', () => echo.taken[0]?.text.length === text.length);
    caller.socket.resume();
    await until('all answers', () => caller.text.length === text.length);
    expect(caller.text).toBe(text.toUpperCase());
  });

  it('dropped: resets open and new connections until the state is open again', async () => {
    const caller = await greeted();
    relay.set({ kind: 'dropped' });
    await until('the end of both connections', () => caller.closed && (echo.taken[0]?.closed ?? false));
    // The reset may come before or after the connection is established.
    const second = await call().catch(() => undefined);
    await until('the end of the second connection', () => second?.closed ?? true);
    expect(echo.taken).toHaveLength(1);
    relay.set({ kind: 'open' });
    await greeted();
  });

  it('delayed: everything arrives later, in order', async () => {
    const time = await relayOnFakeTime();
    const caller = await greeted();
    relay.set({ kind: 'delayed', ms: 30 });
    caller.socket.write('one');
    await until('the relay to have the first', () => relay.delayed === 1);
    await time.advance(29);
    // The first piece is still delayed.
    expect(time.timers).toBe(1);
    caller.socket.write('two');
    await until('the relay to have the second', () => relay.delayed === 2);
    await time.advance(1);
    await until('the first answer', () => relay.delayed === 3);
    expect(echo.taken[0]?.text).toBe('helloone');
    await time.advance(30);
    await until('the second answer', () => relay.delayed === 4);
    await until('the first answer at the caller', () => caller.text === 'HELLOONE');
    await time.advance(30);
    await until('both answers at the caller', () => caller.text === 'HELLOONETWO');
  });

  it('delayed and then open: new bytes do not overtake delayed bytes', async () => {
    const time = await relayOnFakeTime();
    const caller = await greeted();
    relay.set({ kind: 'delayed', ms: 200 });
    caller.socket.write('one');
    const second = await call();
    second.socket.write('two');
    await until('the relay to have both', () => relay.delayed === 2);
    relay.set({ kind: 'open' });
    caller.socket.write('three');
    second.socket.write('four');
    await until('the relay to have all', () => relay.delayed === 4);
    expect(echo.taken.map((s) => s.text)).toEqual(['hello', '']);
    // One more millisecond for each further piece.
    await time.advance(202);
    await until('the answers', () => caller.text === 'HELLOONETHREE' && second.text === 'TWOFOUR');
  });

  it('held: nothing arrives until the state is open again, then everything arrives', async () => {
    const caller = await greeted();
    relay.set({ kind: 'held' });
    caller.socket.write('later');
    const second = await call();
    second.socket.write('too');
    await until('the second to be taken', () => relay.open === 2);
    expect(echo.taken.map((s) => s.text)).toEqual(['hello']);
    relay.set({ kind: 'open' });
    await until('all answers', () => caller.text === 'HELLOLATER' && second.text === 'TOO');
  });

  it('lost: earlier connections stay silent without an error; new connections work afterwards', async () => {
    const caller = await greeted();
    relay.set({ kind: 'lost' });
    caller.socket.write('lost');
    const openedDuringFault = await call();
    relay.set({ kind: 'open' });
    await until('the reset of a connection that was opened during the fault', () => openedDuringFault.closed);
    caller.socket.write('still lost');
    await greeted();
    expect(echo.taken[0]?.text).toBe('hello');
    expect(caller.text).toBe('HELLO');
    expect([caller.closed, echo.taken[0]?.closed]).toEqual([false, false]);
  });

  it('half-closed: answers end but requests arrive; the connection is reset when the state is open again', async () => {
    const caller = await greeted();
    relay.set({ kind: 'half-closed' });
    await until('the end of the answers', () => caller.ended);
    caller.socket.write(' and more');
    await until('the rest to arrive', () => echo.taken[0]?.text === 'hello and more');
    expect(caller.text).toBe('HELLO');
    relay.set({ kind: 'open' });
    await until('the end of the connection at the server', () => echo.taken[0]?.closed ?? false);
    await until('the end of the connection at the caller', () => {
      if (!caller.closed) caller.socket.write('into nothing');
      return caller.closed;
    });
    await greeted();
  });

  it('mute: the request arrives, the answer does not, and then the connection is reset', async () => {
    const caller = await greeted();
    relay.set({ kind: 'mute' });
    caller.socket.write(' commit');
    await until('the request to arrive', () => echo.taken[0]?.text === 'hello commit');
    const fresh = await call();
    fresh.socket.write('commit');
    await until('the request of a new connection to arrive', () => echo.taken[1]?.text === 'commit');
    relay.set({ kind: 'open' });
    await until('both to be reset', () => caller.closed && fresh.closed);
    expect([caller.text, fresh.text]).toEqual(['HELLO', '']);
  });

  it('cut: resets open connections and accepts new ones at once', async () => {
    const caller = await greeted();
    relay.cut();
    await until('the end of the connection', () => caller.closed);
    await greeted();
  });

  it('alternates between several targets and skips a target that refuses', async () => {
    const second = await startEcho();
    await relay.close();
    relay = await startRelay([echo.address, second.address]);
    await greeted();
    await greeted();
    expect([echo.taken.length, second.taken.length]).toEqual([1, 1]);
    await new Promise<void>((done) => {
      second.server.close(() => done());
      for (const { socket } of second.taken) socket.destroy();
    });
    await greeted();
    await greeted();
    expect(echo.taken).toHaveLength(3);
  });

  it('closes the connection at once if no target answers', async () => {
    await relay.close();
    relay = await startRelay(['127.0.0.1:1']);
    const caller = await call();
    await until('the end of the connection', () => caller.closed);
  });
});
