import type { BlockList, Socket } from 'node:net';
import { Counter, type Registry } from 'prom-client';
import { type Clock, monotonicMs, systemClock } from '../clock.ts';
import { networkOf } from './address.ts';

/** How many connections a listener has at most. */
export interface ConnectionLimits {
  readonly most: number;
  /** Maximum number of connections of one IPv4 address, or of one /64 of IPv6. */
  readonly mostOfAddress: number;
  /** Addresses of proxies, each with many clients: their connections count only towards `most`. */
  readonly proxies: BlockList;
}

/** State of a connection: no request so far, waiting for the client, or a request in progress. */
type State = 'new' | 'idle' | 'busy';

/** Why the listener closed or rejected a connection, or rejected a request on it. */
export type RejectionReason = 'replaced' | 'full' | 'address' | 'pipelined';

interface Connection {
  readonly address: string;
  /** The address, or its /64 for IPv6: the key that `mostOfAddress` counts. */
  readonly network: string;
  readonly peer: string;
  /** Number of requests or streams in progress. */
  readonly uses: number;
  readonly sinceMs: number;
}

/**
 * Minimum age of a connection before a new connection may replace it: the client may be about to send; milliseconds.
 */
const youngMs = 1000;

/**
 * The connections of one listener (rule C21). At a limit, a new connection replaces the oldest connection without any
 * request, or else the connection idle longest. So a client that only holds connections open cannot lock out others. If
 * all connections have requests in progress, the new connection is closed.
 */
export class Connections {
  readonly #limits: ConnectionLimits;
  readonly #onRejected: (why: RejectionReason) => void;
  readonly #clock: Clock;
  readonly #youngMs: number;
  readonly #of = new Map<Socket, State>();
  /** Connections by state, in the order in which they entered it: the connection idle longest comes first. */
  readonly #waiting: Record<State, Map<Socket, Connection>> = {
    new: new Map(),
    idle: new Map(),
    busy: new Map(),
  };
  readonly #ofNetwork = new Map<string, number>();
  readonly #byPeer = new Map<string, Socket>();

  constructor(
    limits: ConnectionLimits,
    onRejected: (why: RejectionReason) => void = () => {},
    timing: { readonly clock?: Clock; readonly youngMs?: number } = {},
  ) {
    this.#limits = limits;
    this.#onRejected = onRejected;
    this.#clock = timing.clock ?? systemClock;
    this.#youngMs = timing.youngMs ?? youngMs;
  }

  get size(): number {
    return this.#of.size;
  }

  /**
   * Counts a connection until it closes. Returns false if the limits do not allow it; the connection is then closed.
   */
  admit(socket: Socket): boolean {
    const address = socket.remoteAddress ?? '';
    const network = networkOf(address);
    if (!this.isProxy(socket) && this.#isFull(network) && !this.#closeReplaceable(network)) {
      return this.#refuse(socket, 'address');
    }
    if (this.#of.size >= this.#limits.most && !this.#closeReplaceable()) return this.#refuse(socket, 'full');
    this.#of.set(socket, 'new');
    const peer = peerOf(socket);
    this.#waiting.new.set(socket, { address, network, peer, uses: 0, sinceMs: monotonicMs(this.#clock) });
    this.#count(network);
    this.#byPeer.set(peer, socket);
    socket.once('close', () => this.#forget(socket));
    return true;
  }

  /** True if the peer is a trusted proxy, which has many clients. */
  isProxy({ remoteAddress = '', remoteFamily }: Socket): boolean {
    return this.#limits.proxies.check(remoteAddress, remoteFamily === 'IPv6' ? 'ipv6' : 'ipv4');
  }

  /**
   * Counts a proxy's connection for the client address that the PROXY header names. Returns false if that address has
   * reached its limit; the connection is then closed.
   */
  cameFrom(socket: Socket, address: string): boolean {
    const state = this.#of.get(socket);
    const connection = state && this.#waiting[state].get(socket);
    if (!connection) return false;
    const network = networkOf(address);
    if (this.#isFull(network) && !this.#closeReplaceable(network)) {
      this.#forget(socket);
      return this.#refuse(socket, 'address');
    }
    this.#uncount(connection.network);
    this.#count(network);
    // The connection keeps its position in the order.
    this.#waiting[state].set(socket, { ...connection, address, network });
    return true;
  }

  /** The address that a connection counts for, possibly from a PROXY header. Undefined: the connection has closed. */
  addressOf(peer: string): string | undefined {
    const socket = this.#byPeer.get(peer);
    const state = socket && this.#of.get(socket);
    return state && this.#waiting[state].get(socket)?.address;
  }

  /**
   * Counts one more request or stream in progress; the connection is not replaced meanwhile. A peer is
   * `address:port`, as in gRPC. Returns the number of requests in progress on the connection.
   */
  busy(which: Socket | string): number {
    return this.#change(which, 1);
  }

  /** Counts one request or stream less; at zero the connection is idle. */
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

  #closeReplaceable(network?: string): boolean {
    const latestMs = monotonicMs(this.#clock) - this.#youngMs;
    for (const state of ['new', 'idle'] as const) {
      for (const [socket, { network: its, sinceMs }] of this.#waiting[state]) {
        if (sinceMs > latestMs) break;
        if (network !== undefined && its !== network) continue;
        this.#forget(socket);
        socket.destroy();
        this.#onRejected('replaced');
        return true;
      }
    }
    return false;
  }

  #refuse(socket: Socket, why: RejectionReason): false {
    socket.destroy();
    this.#onRejected(why);
    return false;
  }

  /** Called when a connection closes, and before when a new connection replaces it. */
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

/** Counts the connections that a listener rejects. */
export function countRejected(metrics: Registry): (listener: string) => (why: RejectionReason) => void {
  const name = 'headset_listener_rejected_connections_total';
  const counter =
    (metrics.getSingleMetric(name) as Counter<'listener' | 'reason'> | undefined) ??
    new Counter({
      name,
      help: 'Connections that a listener has closed because of its limits: replaced by a newer one while idle (replaced), rejected (full, address), or with too many requests at once (pipelined).',
      labelNames: ['listener', 'reason'],
      registers: [metrics],
    });
  return (listener) => (reason) => counter.inc({ listener, reason });
}
