import { subscribe } from 'node:diagnostics_channel';
import type { Socket } from 'node:net';
import type { buildConnector } from 'undici';

/** State of the answers on a connection. */
interface Incoming {
  /** Bytes that may begin an interim answer; undefined: the following bytes belong to a final answer. */
  head: Buffer | undefined;
}

const incoming = new WeakMap<object, Incoming>();
let isSubscribed = false;

/**
 * A connector that removes interim answers (1xx, except 101) before undici reads them. Clients must accept an
 * unrequested `100 Continue` (RFC 9110 15.2), but undici closes the connection at a 100, and treats any other interim
 * answer to a CONNECT as the final answer. Interim answers are searched only after undici has reported the start of a
 * request, so bytes of a body are never parsed as an interim answer.
 */
export function withoutInterimAnswers(connect: buildConnector.connector): buildConnector.connector {
  if (!isSubscribed) {
    isSubscribed = true;
    subscribe('undici:client:sendHeaders', (message) => {
      const state = incoming.get((message as { socket: object }).socket);
      if (state) state.head = Buffer.alloc(0);
    });
  }
  return (options, callback) =>
    connect(options, (...answer) => {
      const [error, socket] = answer;
      if (!error) filter(socket);
      callback(...answer);
    });
}

function filter(socket: Socket): void {
  if (incoming.has(socket)) return;
  const state: Incoming = { head: undefined };
  incoming.set(socket, state);
  const read = socket.read.bind(socket);
  socket.read = (size) => {
    for (;;) {
      const chunk: Buffer | null = read(size);
      if (!chunk || !state.head) return chunk;
      const rest = afterInterim(Buffer.concat([state.head, chunk]));
      state.head = rest.isFinal ? undefined : rest.bytes;
      if (rest.isFinal) return rest.bytes;
    }
  };
}

const interimStart = 'HTTP/1.1 1';
const upgradeStart = 'HTTP/1.1 101';
const end = '\r\n\r\n';
/** Maximum bytes of an answer's headers, as in undici. A longer interim answer ends the search. */
const maxHeadBytes = 16 * 1024;

/** Returns the bytes after the interim answers, and whether the final answer begins there. */
function afterInterim(bytes: Buffer): { readonly bytes: Buffer; readonly isFinal: boolean } {
  let rest = bytes;
  for (;;) {
    const start = rest.toString('latin1', 0, upgradeStart.length);
    const mayBeInterim = upgradeStart.startsWith(start.slice(0, interimStart.length));
    if (mayBeInterim && start.length < upgradeStart.length) return { bytes: rest, isFinal: false };
    if (!mayBeInterim || start === upgradeStart) return { bytes: rest, isFinal: true };
    const endsAt = rest.indexOf(end);
    if (endsAt === -1) return { bytes: rest, isFinal: rest.length > maxHeadBytes };
    rest = rest.subarray(endsAt + end.length);
  }
}
