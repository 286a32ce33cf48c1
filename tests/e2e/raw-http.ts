import { connect, type Socket } from 'node:net';
import { stack } from './harness.ts';

/** Answer on a raw connection, complete or until the connection was closed. */
export interface RawAnswer {
  /** 0 if the connection was closed without an answer. */
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly text: string;
}

/**
 * Writes bytes to the API unchanged, the pieces one after the other with a pause in between; with
 * `end` it then closes its side of the connection.
 */
export function rawRequest(
  pieces: readonly (string | Buffer)[],
  { pauseMs = 0, end = false } = {},
): Promise<RawAnswer> {
  const { hostname, port } = new URL(stack.apiUrl);
  return new Promise((resolve) => {
    const socket = connect(Number(port), hostname);
    let received = '';
    let over = false;
    const finish = () => {
      if (over) return;
      over = true;
      socket.destroy();
      resolve(parse(received));
    };
    socket.setEncoding('latin1');
    socket.on('data', (text: string) => {
      received += text;
      if (isWhole(received)) finish();
    });
    // A server may reject and close while the rest is still being written.
    socket.on('error', finish);
    socket.on('close', finish);
    const write = (i: number) => {
      const piece = pieces[i];
      if (over) return;
      if (piece === undefined) {
        if (end) socket.end();
        return;
      }
      socket.write(piece);
      setTimeout(() => write(i + 1), pauseMs);
    };
    socket.once('connect', () => write(0));
  });
}

/** Opens a connection to the API that stays open; returns it with its answer so far; status 0: no answer yet. */
export function openRaw(first: string): { readonly socket: Socket; readonly answer: () => RawAnswer } {
  const { hostname, port } = new URL(stack.apiUrl);
  const socket = connect(Number(port), hostname);
  socket.write(first);
  let received = '';
  socket.setEncoding('latin1');
  socket.on('error', () => {});
  socket.on('data', (text: string) => {
    received += text;
  });
  return { socket, answer: () => parse(received) };
}

/** The statuses of all answers of a server on one connection, until the server closes the connection. */
export function rawStatuses(bytes: string, url = stack.apiUrl): Promise<number[]> {
  const { hostname, port } = new URL(url);
  return new Promise((resolve) => {
    const socket = connect(Number(port), hostname, () => socket.write(bytes));
    let received = '';
    socket.setEncoding('latin1');
    socket.on('data', (text: string) => {
      received += text;
    });
    socket.on('error', () => {});
    socket.on('close', () =>
      resolve([...received.matchAll(/HTTP\/1\.1 (\d{3}) /g)].map((found) => Number(found[1]))),
    );
  });
}

function isWhole(text: string): boolean {
  const end = text.indexOf('\r\n\r\n');
  if (end < 0) return false;
  const length = /\r\ncontent-length: (\d+)/i.exec(text.slice(0, end + 2))?.[1];
  return length !== undefined && text.length >= end + 4 + Number(length);
}

function parse(received: string): RawAnswer {
  const end = received.indexOf('\r\n\r\n');
  const [first = '', ...lines] = received.slice(0, Math.max(end, 0)).split('\r\n');
  const headers: Record<string, string> = {};
  for (const line of lines) {
    const colon = line.indexOf(':');
    headers[line.slice(0, colon).toLowerCase()] = line.slice(colon + 1).trim();
  }
  return { status: Number(first.split(' ')[1] ?? 0), headers, text: received.slice(end + 4) };
}
