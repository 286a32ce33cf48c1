import type { BlockList, Socket } from 'node:net';
import { Counter, type Registry } from 'prom-client';
import { type Clock, monotonicMs, systemClock } from '../clock.ts';
import { networkOf } from './address.ts';

/** Limits of the connections of a listener. */
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
  /** The IPv4 address, or the /64 of an IPv6 address: the key that `mostOfAddress` limits. */
  readonly network: string;
  /** Address and port of the peer. */
  readonly peer: string;
  /** Number of requests or streams in progress. */
  readonly uses: number;
  /** When the connection entered its state; by the monotonic clock. */
  readonly sinceMs: number;
}

/**
 * Time in its state before a connection may be replaced, because its client may be about to send; milliseconds.
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
  /** State of each connection. */
  readonly #states = new Map<Socket, State>();
  /** Connections by state, in the order in which they entered it: the connection idle longest comes first. */
  readonly #byState: Record<State, Map<Socket, Connection>> = {
    new: new Map(),
    idle: new Map(),
    busy: new Map(),
  };
  /** Number of connections by network. */
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
    return this.#states.size;
  }

  /**
   * Counts a connection until it closes. Returns false if the limits do not allow it; the connection is then closed.
   */
  admit(socket: Socket): boolean {
    const address = socket.remoteAddress ?? '';
    const network = networkOf(address);
    if (!this.isProxy(socket) && this.#isFull(network) && !this.#closeReplaceable(network)) {
      return this.#reject(socket, 'address');
    }
    if (this.#states.size >= this.#limits.most && !this.#closeReplaceable())
      return this.#reject(socket, 'full');
    this.#states.set(socket, 'new');
    const peer = peerOf(socket);
    this.#byState.new.set(socket, { address, network, peer, uses: 0, sinceMs: monotonicMs(this.#clock) });
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
   * Counts a proxy's connection for the client address in the PROXY header. Returns false if that address has reached
   * its limit; the connection is then closed.
   */
  countForClient(socket: Socket, address: string): boolean {
    const state = this.#states.get(socket);
    const connection = state && this.#byState[state].get(socket);
    if (!connection) return false;
    const network = networkOf(address);
    if (this.#isFull(network) && !this.#closeReplaceable(network)) {
      this.#forget(socket);
      return this.#reject(socket, 'address');
    }
    this.#uncount(connection.network);
    this.#count(network);
    // An existing entry of a Map keeps its position in the order.
    this.#byState[state].set(socket, { ...connection, address, network });
    return true;
  }

  /** Returns the address for which a connection counts, possibly from a PROXY header; undefined: it has closed. */
  addressOf(peer: string): string | undefined {
    const socket = this.#byPeer.get(peer);
    const state = socket && this.#states.get(socket);
    return state && this.#byState[state].get(socket)?.address;
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
    const from = socket && this.#states.get(socket);
    const connection = from && this.#byState[from].get(socket);
    if (!connection) return 0;
    const uses = connection.uses + more;
    const to = uses > 0 ? 'busy' : 'idle';
    this.#byState[from].delete(socket);
    this.#byState[to].set(socket, { ...connection, uses, sinceMs: monotonicMs(this.#clock) });
    this.#states.set(socket, to);
    return uses;
  }

  /**
   * Closes the connection that may be replaced first, of this network if it is given. Returns false if there is none.
   */
  #closeReplaceable(network?: string): boolean {
    const replaceableSinceMs = monotonicMs(this.#clock) - this.#youngMs;
    for (const state of ['new', 'idle'] as const) {
      for (const [socket, { network: networkOfSocket, sinceMs }] of this.#byState[state]) {
        if (sinceMs > replaceableSinceMs) break;
        if (network !== undefined && networkOfSocket !== network) continue;
        this.#forget(socket);
        socket.destroy();
        this.#onRejected('replaced');
        return true;
      }
    }
    return false;
  }

  #reject(socket: Socket, why: RejectionReason): false {
    socket.destroy();
    this.#onRejected(why);
    return false;
  }

  /** Stops counting a connection, because it has closed or is about to be replaced. */
  #forget(socket: Socket): void {
    const state = this.#states.get(socket);
    const connection = state && this.#byState[state].get(socket);
    if (!connection) return;
    this.#states.delete(socket);
    this.#byState[state].delete(socket);
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
