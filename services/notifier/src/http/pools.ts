import { type buildConnector, Pool } from 'undici';

/**
 * Keep-alive connections by origin. The number of pools is limited; the pool unused longest is closed. Applications may
 * share an origin, so no request waits for a connection: callers limit the requests of each application.
 */
export class OriginPools {
  readonly #pools = new Map<string, Pool>();
  readonly #open: (origin: string) => Pool;
  readonly #maxPools: number;
  readonly #closing = new Set<Promise<void>>();

  constructor({ maxPools, connect }: { maxPools: number; connect: buildConnector.connector }) {
    this.#maxPools = maxPools;
    // Without HTTP/2: otherwise undici lets all requests wait for the first connection, to learn the protocol.
    this.#open = (origin) => new Pool(origin, { connections: null, allowH2: false, connect });
  }

  /** The origin's pool, for immediate use. */
  get(origin: string): Pool {
    let pool = this.#pools.get(origin);
    if (pool) this.#pools.delete(origin);
    else pool = this.#open(origin);
    // Moved to the end: the first pool in the map is the one unused longest.
    this.#pools.set(origin, pool);
    if (this.#pools.size > this.#maxPools) {
      const [oldest, stale] = this.#pools.entries().next().value as [string, Pool];
      this.#pools.delete(oldest);
      // Requests in flight finish; each has its deadline.
      const closed: Promise<void> = stale
        .close()
        .catch(() => {})
        .finally(() => this.#closing.delete(closed));
      this.#closing.add(closed);
    }
    return pool;
  }

  get size(): number {
    return this.#pools.size;
  }

  /** Closes every connection. */
  async close(): Promise<void> {
    await Promise.all([...this.#pools.values()].map((pool) => pool.destroy()));
    this.#pools.clear();
    await Promise.all(this.#closing);
  }
}
