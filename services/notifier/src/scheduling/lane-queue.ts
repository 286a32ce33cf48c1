import { systemTime, type Time, type Timer } from '@headset-cloud/runtime/clock.ts';
import { Chain, chainKey, type QueueEntry } from '../domain/chain.ts';
import type { Delivery } from '../domain/delivery.ts';
import { windowUnitsOf } from '../domain/window.ts';

/** A chain that is being worked on, with its first entry at the time it was taken. */
export interface Taken {
  readonly chain: Chain;
  readonly entry: QueueEntry;
}

/**
 * The deliveries of one lane that this instance owns, as chains that are ready, being worked on, or waiting for a time.
 * `onReady` is called when a waiting chain is ready.
 */
export class LaneQueue {
  readonly #chains = new Map<string, Chain>();
  readonly #ready: Chain[] = [];
  readonly #waiting = new Map<Chain, Timer>();
  readonly #onReady: () => void;
  readonly #time: Time;
  #size = 0;

  constructor(onReady: () => void, time: Time = systemTime) {
    this.#onReady = onReady;
    this.#time = time;
  }

  /** Window units of its deliveries. */
  get size(): number {
    return this.#size;
  }

  get readyCount(): number {
    return this.#ready.length;
  }

  *entries(): Iterable<QueueEntry> {
    for (const chain of this.#chains.values()) yield* chain.all;
  }

  /**
   * Returns the claimed deliveries that are not queued yet. After a pause of the process, or a clock step, an instance
   * may claim its own deliveries. These get the new lease.
   */
  unknownOf(claimed: readonly Delivery[]): Delivery[] {
    const known = new Map([...this.entries()].map((entry) => [entry.delivery.id, entry]));
    return claimed.filter(({ id, dueAtMs }) => {
      const entry = known.get(id);
      if (entry) entry.delivery = { ...entry.delivery, dueAtMs };
      return !entry;
    });
  }

  /** Adds a delivery. Returns the deliveries that it, or a later one, replaces. */
  add(entry: QueueEntry): QueueEntry[] {
    const key = chainKey(entry);
    let chain = this.#chains.get(key);
    if (!chain) {
      chain = new Chain(key);
      this.#chains.set(key, chain);
      this.#ready.push(chain);
    }
    const first = chain.first;
    const replaced = chain.add(entry);
    this.#size += windowUnitsOf(entry.delivery);
    for (const { delivery } of replaced) this.#size -= windowUnitsOf(delivery);
    // The delivery that the chain waited for may have been removed: the new first delivery has its own time.
    if (chain.first !== first && this.#waiting.has(chain)) this.#wake(chain);
    return replaced;
  }

  /** The next chain to work on. Must be returned by `done` or `putOff`. */
  take(): Taken | undefined {
    for (;;) {
      const chain = this.#ready.shift();
      if (!chain) return undefined;
      const entry = chain.first;
      if (!entry) continue;
      chain.working = entry;
      return { chain, entry };
    }
  }

  /** Ends the work on a chain; 'again': it is tried again, before others. */
  done(chain: Chain, order: 'next' | 'again' = 'next'): void {
    chain.working = undefined;
    if (!chain.first) this.#chains.delete(chain.key);
    else if (order === 'again') this.#ready.unshift(chain);
    else this.#ready.push(chain);
  }

  /** Nothing of this chain starts before `delayMs` have passed. */
  putOff(chain: Chain, delayMs: number): void {
    chain.working = undefined;
    this.#waiting.set(
      chain,
      this.#time.setTimeout(() => {
        this.#wake(chain);
        this.#onReady();
      }, delayMs),
    );
  }

  /** Removes a delivery from its chain. */
  remove({ chain, entry }: Taken): void {
    if (chain.remove(entry)) this.#size -= windowUnitsOf(entry.delivery);
  }

  /** Removes a delivery, unless it is being worked on. */
  drop(entry: QueueEntry): void {
    const chain = this.#chains.get(chainKey(entry));
    if (chain?.working === entry) entry.lost = true;
    if (!chain || chain.working === entry) return;
    this.remove({ chain, entry });
    if (!chain.first && !chain.working) this.#forget(chain);
  }

  /** Removes a whole chain that was taken. Returns its entries. */
  evict(chain: Chain): QueueEntry[] {
    const all = [...chain.all];
    for (const entry of all) this.remove({ chain, entry });
    chain.working = undefined;
    this.#forget(chain);
    return all;
  }

  /**
   * Removes ready chains, the last first, until at most `limit` window units are used, or one large delivery is left.
   */
  shrink(limit: number): QueueEntry[] {
    const evicted: QueueEntry[] = [];
    while (this.#size > limit) {
      const chain = this.#ready.at(-1);
      if (!chain) break;
      if (limit > 0 && this.#chains.size === 1 && chain.all.length === 1) break;
      this.#ready.pop();
      evicted.push(...this.evict(chain));
    }
    return evicted;
  }

  /**
   * Moves a delivery from its chain, which continues, into a separate chain: it is no longer in the order. Returns
   * the new chain.
   */
  isolate({ chain, entry }: Taken): Chain {
    const key = chainKey(entry);
    if (chain.key === key) return chain;
    this.remove({ chain, entry });
    if (chain.working === entry) this.done(chain);
    const own = new Chain(key);
    own.add(entry);
    this.#size += windowUnitsOf(entry.delivery);
    this.#chains.set(key, own);
    return own;
  }

  /** Moves deliveries whose maximum wait for first attempts of others is over into chains of their own. */
  separate(nowMs: number): void {
    for (const chain of [...this.#chains.values()]) {
      if (chain.all.length < 2) continue;
      for (const entry of chain.all.slice(1)) {
        const waits = entry.delivery.order === 'tried' && entry !== chain.working;
        if (!waits || entry.patientUntilMs > nowMs) continue;
        entry.alone = true;
        this.#ready.push(this.isolate({ chain, entry }));
      }
    }
  }

  /** Removes first deliveries of chains, ready or waiting, that match `test`. */
  pick(test: (entry: QueueEntry) => boolean): QueueEntry[] {
    const picked: QueueEntry[] = [];
    for (const chain of [...this.#ready, ...this.#waiting.keys()]) {
      for (let entry = chain.first; entry && test(entry); entry = chain.first) {
        this.remove({ chain, entry });
        picked.push(entry);
      }
      if (!chain.first) this.#forget(chain);
    }
    return picked;
  }

  /** Makes waiting chains ready at once. */
  wakeAll(): void {
    for (const chain of [...this.#waiting.keys()]) this.#wake(chain);
  }

  #wake(chain: Chain): void {
    this.#time.clearTimer(this.#waiting.get(chain));
    this.#waiting.delete(chain);
    this.#ready.push(chain);
  }

  #forget(chain: Chain): void {
    this.#time.clearTimer(this.#waiting.get(chain));
    this.#waiting.delete(chain);
    const place = this.#ready.indexOf(chain);
    if (place >= 0) this.#ready.splice(place, 1);
    if (this.#chains.get(chain.key) === chain) this.#chains.delete(chain.key);
  }
}
