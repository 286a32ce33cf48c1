import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';

/** What a line between two programs does to bytes. */
export type LineState =
  | { readonly kind: 'open' }
  /** Connections are reset, and new ones too: as when the other machine has gone. */
  | { readonly kind: 'dropped' }
  | { readonly kind: 'delayed'; readonly ms: number }
  /** Nothing gets through; all of it arrives when the line is open again, as after TCP's repeats. */
  | { readonly kind: 'held' }
  /** Blackhole: bytes are lost. Connections of now stay silent for ever, those made meanwhile are reset in the end. */
  | { readonly kind: 'lost' }
  /** The caller sees the end of the answers, while what it sends still arrives. */
  | { readonly kind: 'half-closed' }
  /** Requests arrive, answers are swallowed: as a commit or produce whose answer is lost. */
  | { readonly kind: 'mute' };

export type LineFault = Exclude<LineState['kind'], 'open'>;
export const lineFaults: readonly LineFault[] = ['dropped', 'delayed', 'held', 'lost', 'half-closed', 'mute'];

/** A TCP relay of the test's own: callers connect to it instead of to its target. */
export interface Relay {
  /** host:port to connect to. */
  readonly address: string;
  readonly state: LineState;
  /** Connections that were taken so far, and those that are open. */
  readonly taken: number;
  readonly open: number;
  /** Pieces that were delayed so far. */
  readonly delayed: number;
  /** From now on. Connections that have lost bytes are reset as soon as another state begins. */
  set(state: LineState): void;
  /** Resets the connections of now; new ones get through. */
  cut(): void;
  close(): Promise<void>;
}

/** One connection: the caller's side and the target's. */
interface Pair {
  readonly inner: Socket;
  outer: Socket | undefined;
  /** Bytes are missing in it: it must not go on. */
  tainted: boolean;
  /** Nothing passes any more, and nobody is told. */
  silent: boolean;
  /** What is delayed on its way to the target and back; nothing overtakes it, as TCP keeps the order. */
  readonly late: { readonly calls: Late[]; readonly answers: Late[] };
}

interface Late {
  readonly atMs: number;
  readonly write: () => void;
}

const host = '127.0.0.1';

/** Starts one on a free port, or on `port`. Several targets take turns; one that refuses is passed over. */
export async function startRelay(targets: readonly string[], port = 0): Promise<Relay> {
  const pairs = new Set<Pair>();
  let state: LineState = { kind: 'open' };
  let taken = 0;
  let delayed = 0;
  let turn = 0;

  const end = (pair: Pair): void => {
    if (!pairs.delete(pair)) return;
    for (const socket of [pair.inner, pair.outer]) {
      // What has ended its side cannot be reset any more.
      if (socket?.writableEnded) socket.destroy();
      else socket?.resetAndDestroy();
    }
  };

  /** Gives on what is delayed, each piece in its turn and not before its time. */
  const giveOn = (pair: Pair, late: Late[]): void => {
    const [first] = late;
    if (!first) return;
    setTimeout(
      () => {
        late.shift();
        if (pairs.has(pair)) first.write();
        giveOn(pair, late);
      },
      Math.max(0, first.atMs - performance.now()),
    );
  };
  const delay = (pair: Pair, isAnswer: boolean, ms: number, write: () => void): void => {
    const late = isAnswer ? pair.late.answers : pair.late.calls;
    delayed += 1;
    late.push({ atMs: performance.now() + ms, write });
    if (late.length === 1) giveOn(pair, late);
  };

  /** What was delayed before the line was free again still comes first. */
  const inTurn = (pair: Pair, isAnswer: boolean, write: () => void): void => {
    if ((isAnswer ? pair.late.answers : pair.late.calls).length > 0) delay(pair, isAnswer, 0, write);
    else write();
  };

  /** What happens to a piece from one side now; `write` gives it to the other. */
  const passOn = (pair: Pair, isAnswer: boolean, write: () => void): void => {
    if (pair.silent) return;
    switch (state.kind) {
      case 'lost':
      case 'dropped':
        pair.tainted = true;
        return;
      case 'mute':
      case 'half-closed':
        pair.tainted = true;
        if (!isAnswer) inTurn(pair, isAnswer, write);
        return;
      case 'delayed':
        delay(pair, isAnswer, state.ms, write);
        return;
      default:
        inTurn(pair, isAnswer, write);
    }
  };

  const join = (pair: Pair, from: Socket, to: Socket, isAnswer: boolean): void => {
    from.on('data', (bytes) =>
      passOn(pair, isAnswer, () => {
        if (!to.writable || to.write(bytes)) return;
        from.pause();
        to.once('drain', () => state.kind !== 'held' && from.resume());
      }),
    );
    from.on('end', () => passOn(pair, isAnswer, () => to.end()));
    from.on('close', () => {
      // The end of one side is the end of the other, except where the line keeps it to itself.
      if (!pairs.has(pair) || pair.silent || state.kind === 'lost' || state.kind === 'held') return;
      if (state.kind === 'delayed') setTimeout(() => end(pair), state.ms);
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
