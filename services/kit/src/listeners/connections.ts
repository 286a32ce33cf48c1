import type { BlockList, Socket } from 'node:net';
import { Counter, type Registry } from 'prom-client';
import { type Clock, monotonicMs, systemClock } from '../clock.ts';
import { networkOf } from './address.ts';

/** How many connections a listener has at most. */
export interface ConnectionLimits {
  readonly most: number;
  /** Of one IPv4 address, or of one /64 of IPv6. */
  readonly mostOfAddress: number;
  /** Behind one of these addresses there are many clients: they count only in all. */
  readonly proxies: BlockList;
}

/** What a connection does: it is new, it waits for its client, or the platform works for it. */
type State = 'new' | 'idle' | 'busy';

/** Why a connection was closed to make room, or was not let in, or why a request on it was refused. */
export type TurnedAway = 'replaced' | 'full' | 'address' | 'pipelined';

interface Connection {
  readonly address: string;
  /** The address, or its /64: what `mostOfAddress` counts. */
  readonly network: string;
  readonly peer: string;
  /** Requests or streams that the platform works for. */
  readonly uses: number;
  readonly sinceMs: number;
}

/** A connection that has come just now may be about to say something; milliseconds. */
const youngMs = 1000;

/**
 * The connections of one listener (rule C21). At a limit, one more replaces the one that has waited longest
 * without having asked for anything, then one that is kept open between requests; so those who only hold
 * connections open cannot keep the others out. Where the platform works for all, the new one is closed.
 */
export class Connections {
  readonly #limits: ConnectionLimits;
  readonly #onTurnedAway: (why: TurnedAway) => void;
  readonly #clock: Clock;
  readonly #youngMs: number;
  readonly #of = new Map<Socket, State>();
  /** In the order in which they came into the state: whoever waits longest comes first. */
  readonly #waiting: Record<State, Map<Socket, Connection>> = {
    new: new Map(),
    idle: new Map(),
    busy: new Map(),
  };
  readonly #ofNetwork = new Map<string, number>();
  readonly #byPeer = new Map<string, Socket>();

  constructor(
    limits: ConnectionLimits,
    onTurnedAway: (why: TurnedAway) => void = () => {},
    timing: { readonly clock?: Clock; readonly youngMs?: number } = {},
  ) {
    this.#limits = limits;
    this.#onTurnedAway = onTurnedAway;
    this.#clock = timing.clock ?? systemClock;
    this.#youngMs = timing.youngMs ?? youngMs;
  }

  get size(): number {
    return this.#of.size;
  }

  /** Counts a connection until it closes. False: there is no room, and it is closed. */
  admit(socket: Socket): boolean {
    const address = socket.remoteAddress ?? '';
    const network = networkOf(address);
    if (!this.isProxy(socket) && this.#isFull(network) && !this.#makeRoom(network)) {
      return this.#refuse(socket, 'address');
    }
    if (this.#of.size >= this.#limits.most && !this.#makeRoom()) return this.#refuse(socket, 'full');
    this.#of.set(socket, 'new');
    const peer = peerOf(socket);
    this.#waiting.new.set(socket, { address, network, peer, uses: 0, sinceMs: monotonicMs(this.#clock) });
    this.#count(network);
    this.#byPeer.set(peer, socket);
    socket.once('close', () => this.#forget(socket));
    return true;
  }

  /** True: behind its address there are many clients. */
  isProxy({ remoteAddress = '', remoteFamily }: Socket): boolean {
    return this.#limits.proxies.check(remoteAddress, remoteFamily === 'IPv6' ? 'ipv6' : 'ipv4');
  }

  /**
   * A proxy has told for whom it opened this connection, which counts for that address from now on. False: that
   * address has no room, and it is closed.
   */
  cameFrom(socket: Socket, address: string): boolean {
    const state = this.#of.get(socket);
    const connection = state && this.#waiting[state].get(socket);
    if (!connection) return false;
    const network = networkOf(address);
    if (this.#isFull(network) && !this.#makeRoom(network)) {
      this.#forget(socket);
      return this.#refuse(socket, 'address');
    }
    this.#uncount(connection.network);
    this.#count(network);
    // It keeps its place in the order.
    this.#waiting[state].set(socket, { ...connection, address, network });
    return true;
  }

  /** The address that a connection counts for; a proxy's header may have named it. Undefined: it has closed. */
  addressOf(peer: string): string | undefined {
    const socket = this.#byPeer.get(peer);
    const state = socket && this.#of.get(socket);
    return state && this.#waiting[state].get(socket)?.address;
  }

  /**
   * One more request or stream on it that the platform works for: it is not closed to make room. A peer is
   * `address:port`, as gRPC names it. Answers how many there are on it now.
   */
  busy(which: Socket | string): number {
    return this.#change(which, 1);
  }

  /** One less; without any it is kept open for what its client may ask next. */
  idle(which: Socket | string): void {
    this.#change(which, -1);
  }

  #change(which: Socket | string, more: 1 | -1): number {
    const socket = typeof which === 'string' ? this.#byPeer.get(which) : which;
    const from = socket && this.#of.get(socket);
    const connection = from && this.#waiting[from].get(socket);
    if (!connection) return 0;
    const uses = connection.uses + more;
    const to = uses > 0 ? 'busy' : 'idle';
    this.#waiting[from].delete(socket);
    this.#waiting[to].set(socket, { ...connection, uses, sinceMs: monotonicMs(this.#clock) });
    this.#of.set(socket, to);
    return uses;
  }

  #makeRoom(network?: string): boolean {
    const latestMs = monotonicMs(this.#clock) - this.#youngMs;
    for (const state of ['new', 'idle'] as const) {
      for (const [socket, { network: its, sinceMs }] of this.#waiting[state]) {
        if (sinceMs > latestMs) break;
        if (network !== undefined && its !== network) continue;
        this.#forget(socket);
        socket.destroy();
        this.#onTurnedAway('replaced');
        return true;
      }
    }
    return false;
  }

  #refuse(socket: Socket, why: TurnedAway): false {
    socket.destroy();
    this.#onTurnedAway(why);
    return false;
  }

  /** Called when it closes, and before when it was closed to make room. */
  #forget(socket: Socket): void {
    const state = this.#of.get(socket);
    const connection = state && this.#waiting[state].get(socket);
    if (!connection) return;
    this.#of.delete(socket);
    this.#waiting[state].delete(socket);
    if (this.#byPeer.get(connection.peer) === socket) this.#byPeer.delete(connection.peer);
    this.#uncount(connection.network);
  }

  #isFull(network: string): boolean {
    return (this.#ofNetwork.get(network) ?? 0) >= this.#limits.mostOfAddress;
  }

  #count(network: string): void {
    this.#ofNetwork.set(network, (this.#ofNetwork.get(network) ?? 0) + 1);
  }

  #uncount(network: string): void {
    const left = (this.#ofNetwork.get(network) ?? 0) - 1;
    if (left > 0) this.#ofNetwork.set(network, left);
    else this.#ofNetwork.delete(network);
  }
}

const peerOf = ({ remoteAddress, remotePort }: Socket): string => `${remoteAddress}:${remotePort}`;

/** Counts the connections that a listener turns away. */
export function countTurnedAway(metrics: Registry): (listener: string) => (why: TurnedAway) => void {
  const name = 'headset_listener_rejected_connections_total';
  const counter =
    (metrics.getSingleMetric(name) as Counter<'listener' | 'reason'> | undefined) ??
    new Counter({
      name,
      help: 'Connections that a listener has closed because of its limits: replaced by a newer one while they waited, not let in, or with too many requests at once (pipelined).',
      labelNames: ['listener', 'reason'],
      registers: [metrics],
    });
  return (listener) => (reason) => counter.inc({ listener, reason });
}
