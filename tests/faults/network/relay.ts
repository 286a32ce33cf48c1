import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';
import { systemTime, type Time } from '@headset-cloud/runtime/clock.ts';

/** Network state of a line between two programs. */
export type LineState =
  | { readonly kind: 'open' }
  /** Open and new connections are reset, as if the other machine had failed. */
  | { readonly kind: 'dropped' }
  | { readonly kind: 'delayed'; readonly ms: number }
  /** Nothing is forwarded until the line is open again; then everything arrives, like TCP retransmissions. */
  | { readonly kind: 'held' }
  /**
   * Blackhole: bytes are lost. Earlier connections stay silent; connections opened in this state are reset at its
   * end.
   */
  | { readonly kind: 'lost' }
  /** The caller's connection gets an end, but its requests still arrive. */
  | { readonly kind: 'half-closed' }
  /** Requests arrive, but answers are dropped, like the lost answer of a commit or a produce request. */
  | { readonly kind: 'mute' };

export type LineFault = Exclude<LineState['kind'], 'open'>;
export const lineFaults: readonly LineFault[] = ['dropped', 'delayed', 'held', 'lost', 'half-closed', 'mute'];

/** A TCP relay. Callers connect to it instead of to its target. */
export interface Relay {
  /** host:port to connect to. */
  readonly address: string;
  readonly state: LineState;
  /** Number of accepted connections so far, and of open connections. */
  readonly taken: number;
  readonly open: number;
  /** Number of delayed pieces so far. */
  readonly delayed: number;
  /** Sets the state. A change of the state resets connections that have lost bytes. */
  set(state: LineState): void;
  /** Resets all open connections. New connections work. */
  cut(): void;
  close(): Promise<void>;
}

/** One relayed connection: the caller's socket and the target's socket. */
interface Pair {
  readonly inner: Socket;
  outer: Socket | undefined;
  /** True: bytes are lost, so the connection must not continue. */
  tainted: boolean;
  /** True: nothing is forwarded any more, without an error on either side. */
  silent: boolean;
  /** Delayed bytes in each direction. Later bytes do not overtake them, because TCP keeps the order. */
  readonly late: { readonly calls: Late[]; readonly answers: Late[] };
}

interface Late {
  readonly atMs: number;
  readonly write: () => void;
}

const host = '127.0.0.1';

/** Starts a relay on `port` or a free port. It alternates between several targets and skips one that refuses. */
export async function startRelay(
  targets: readonly string[],
  port = 0,
  time: Time = systemTime,
): Promise<Relay> {
  const pairs = new Set<Pair>();
  let state: LineState = { kind: 'open' };
  let taken = 0;
  let delayed = 0;
  let turn = 0;

  const end = (pair: Pair): void => {
    if (!pairs.delete(pair)) return;
    for (const socket of [pair.inner, pair.outer]) {
      // A socket cannot be reset after it has ended its side.
      if (socket?.writableEnded) socket.destroy();
      else socket?.resetAndDestroy();
    }
  };

  /** Forwards delayed pieces that are due, in order. */
  const flushDelayed = (pair: Pair, late: Late[]): void => {
    const [first] = late;
    if (!first) return;
    time.setTimeout(
      () => {
        late.shift();
        if (pairs.has(pair)) first.write();
        flushDelayed(pair, late);
      },
      Math.max(0, first.atMs - time.monotonicNow()),
    );
  };
  const delay = (pair: Pair, isAnswer: boolean, ms: number, write: () => void): void => {
    const late = isAnswer ? pair.late.answers : pair.late.calls;
    delayed += 1;
    late.push({ atMs: time.monotonicNow() + ms, write });
    if (late.length === 1) flushDelayed(pair, late);
  };

  /** Forwards a piece after all delayed pieces. */
  const forwardInOrder = (pair: Pair, isAnswer: boolean, write: () => void): void => {
    if ((isAnswer ? pair.late.answers : pair.late.calls).length > 0) delay(pair, isAnswer, 0, write);
    else write();
  };

  /** Handles a piece from one side by the current state. `write` sends it to the other side. */
  const forward = (pair: Pair, isAnswer: boolean, write: () => void): void => {
    if (pair.silent) return;
    switch (state.kind) {
      case 'lost':
      case 'dropped':
        pair.tainted = true;
        return;
      case 'mute':
      case 'half-closed':
        pair.tainted = true;
        if (!isAnswer) forwardInOrder(pair, isAnswer, write);
        return;
      case 'delayed':
        delay(pair, isAnswer, state.ms, write);
        return;
      default:
        forwardInOrder(pair, isAnswer, write);
    }
  };

  const join = (pair: Pair, from: Socket, to: Socket, isAnswer: boolean): void => {
    from.on('data', (bytes) =>
      forward(pair, isAnswer, () => {
        if (!to.writable || to.write(bytes)) return;
        from.pause();
        to.once('drain', () => state.kind !== 'held' && from.resume());
      }),
    );
    from.on('end', () => forward(pair, isAnswer, () => to.end()));
    from.on('close', () => {
      // Forward the end of one side to the other, unless the state prevents it.
      if (!pairs.has(pair) || pair.silent || state.kind === 'lost' || state.kind === 'held') return;
      if (state.kind === 'delayed') time.setTimeout(() => end(pair), state.ms);
      else if (from.errored || pair.tainted) end(pair);
      else if (to.destroyed) pairs.delete(pair);
      else to.end();
    });
  };

  const reach = (pair: Pair, tries: number): void => {
    if (!pairs.has(pair)) return;
    const [host = '', port = ''] = (targets[turn++ % targets.length] as string).split(':');
    const outer = connect({ port: Number(port), host, allowHalfOpen: true, noDelay: true });
    pair.outer = outer;
    outer.once('error', () => (tries > 1 ? reach(pair, tries - 1) : end(pair)));
    outer.once('connect', () => {
      outer.removeAllListeners('error').on('error', () => {});
      join(pair, pair.inner, outer, false);
      join(pair, outer, pair.inner, true);
      if (state.kind === 'held') outer.pause();
      else pair.inner.resume();
    });
  };

  const server = createServer({ allowHalfOpen: true, pauseOnConnect: true, noDelay: true }, (inner) => {
    inner.on('error', () => {});
    taken += 1;
    if (state.kind === 'dropped') {
      inner.resetAndDestroy();
      return;
    }
    const pair: Pair = {
      ...{ inner, outer: undefined, tainted: state.kind === 'lost', silent: false },
      late: { calls: [], answers: [] },
    };
    pairs.add(pair);
    inner.once('close', () => !pair.outer && pairs.delete(pair));
    if (state.kind === 'open' || state.kind === 'delayed' || state.kind === 'mute') {
      reach(pair, targets.length);
    } else if (state.kind === 'half-closed') {
      pair.tainted = true;
      inner.end();
    }
  });
  server.listen(port, host);
  await once(server, 'listening');

  return {
    address: `${host}:${(server.address() as AddressInfo).port}`,
    get state() {
      return state;
    },
    get taken() {
      return taken;
    },
    get open() {
      return pairs.size;
    },
    get delayed() {
      return delayed;
    },
    set(next) {
      const before = state.kind;
      state = next;
      for (const pair of [...pairs]) {
        if (next.kind === 'dropped' || (pair.tainted && next.kind !== before)) {
          end(pair);
        } else if (next.kind === 'lost') {
          pair.silent = true;
        } else if (next.kind === 'half-closed') {
          pair.tainted = true;
          pair.inner.end();
        } else if (next.kind === 'held') {
          pair.inner.pause();
          pair.outer?.pause();
        } else if (before === 'held' && !pair.outer) {
          reach(pair, targets.length);
        } else if (before === 'held') {
          pair.inner.resume();
          pair.outer?.resume();
        }
      }
    },
    cut() {
      for (const pair of [...pairs]) end(pair);
    },
    async close() {
      server.close();
      for (const pair of [...pairs]) end(pair);
    },
  };
}
