import { Pool } from 'undici';

/** Keep-alive connections by origin: a bounded number of pools, the one unused for longest is closed. */
export class OriginPools {
  readonly #pools = new Map<string, Pool>();
  readonly #open: (origin: string) => Pool;
  readonly #maxPools: number;
  readonly #closing = new Set<Promise<void>>();

  constructor(options: { maxPools: number; pool: Pool.Options }) {
    this.#maxPools = options.maxPools;
    this.#open = (origin) => new Pool(origin, options.pool);
  }

  /** The origin's pool, to be used at once. */
  get(origin: string): Pool {
    let pool = this.#pools.get(origin);
    if (pool) this.#pools.delete(origin);
    else pool = this.#open(origin);
    // Put last: the first in the map is the one unused for longest.
    this.#pools.set(origin, pool);
    if (this.#pools.size > this.#maxPools) {
      const [oldest, stale] = this.#pools.entries().next().value as [string, Pool];
      this.#pools.delete(oldest);
      // Lets the requests in flight finish; each of them has its deadline.
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

  /** Cuts every connection. */
  async close(): Promise<void> {
    await Promise.all([...this.#pools.values()].map((pool) => pool.destroy()));
    this.#pools.clear();
    await Promise.all(this.#closing);
  }
}
