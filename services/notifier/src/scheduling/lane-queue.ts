import { Chain, chainKey, type Held } from '../domain/chain.ts';
import type { Delivery } from '../domain/delivery.ts';

/**
 * The deliveries of one lane that this instance holds, as chains that are ready, being worked on, or
 * waiting for a time. `onReady` is called when a waiting one's time has come.
 */
export class LaneQueue {
  readonly #chains = new Map<string, Chain>();
  readonly #ready: Chain[] = [];
  readonly #waiting = new Map<Chain, NodeJS.Timeout>();
  readonly #onReady: () => void;
  #size = 0;

  constructor(onReady: () => void) {
    this.#onReady = onReady;
  }

  get size(): number {
    return this.#size;
  }

  get readyCount(): number {
    return this.#ready.length;
  }

  *held(): Iterable<Held> {
    for (const chain of this.#chains.values()) yield* chain.all;
  }

  /**
   * Of what was claimed, what is not here already: after a pause of the process, or a step of its clock,
   * it may have claimed what it holds. That has a new lease then.
   */
  unheld(claimed: readonly Delivery[], leaseUntilMs: number): Pick<Held, 'delivery' | 'leaseUntilMs'>[] {
    const held = new Map([...this.held()].map((one) => [one.delivery.id, one]));
    return claimed.flatMap((delivery) => {
      const here = held.get(delivery.id);
      if (!here) return [{ delivery, leaseUntilMs }];
      here.leaseUntilMs = leaseUntilMs;
      return [];
    });
  }

  /** Takes a delivery in; answers those that it, or a later one, replaces. */
  add(held: Held): Held[] {
    const key = chainKey(held);
    let chain = this.#chains.get(key);
    if (!chain) {
      chain = new Chain(key);
      this.#chains.set(key, chain);
      this.#ready.push(chain);
    }
    const first = chain.first;
    const replaced = chain.add(held);
    this.#size += 1 - replaced.length;
    // What the chain waited for may be gone: the new first one has its own time.
    if (chain.first !== first && this.#waiting.has(chain)) this.#wake(chain);
    return replaced;
  }

  /** The next chain to work on. Give it back by `done` or `putOff`. */
  take(): { chain: Chain; held: Held } | undefined {
    for (;;) {
      const chain = this.#ready.shift();
      if (!chain) return undefined;
      const held = chain.first;
      if (!held) continue;
      chain.working = held;
      return { chain, held };
    }
  }

  /** The chain's work has come to an end, or is to be tried again (then before others). */
  done(chain: Chain, order: 'next' | 'again' = 'next'): void {
    chain.working = undefined;
    if (!chain.first) this.#chains.delete(chain.key);
    else if (order === 'again') this.#ready.unshift(chain);
    else this.#ready.push(chain);
  }

  /** Nothing of this chain starts before `delayMs` are over. */
  putOff(chain: Chain, delayMs: number): void {
    chain.working = undefined;
    this.#waiting.set(
      chain,
      setTimeout(() => {
        this.#wake(chain);
        this.#onReady();
      }, delayMs),
    );
  }

  /** Takes a delivery out of its chain. */
  remove(chain: Chain, held: Held): void {
    if (chain.remove(held)) this.#size--;
  }

  /** Takes one out wherever it is, unless it is being worked on. */
  drop(held: Held): void {
    const chain = this.#chains.get(chainKey(held));
    if (!chain || chain.working === held) return;
    this.remove(chain, held);
    if (!chain.first && !chain.working) this.#forget(chain);
  }

  /** Takes a whole chain out that was taken; answers what it held. */
  evict(chain: Chain): Held[] {
    const all = [...chain.all];
    for (const held of all) this.remove(chain, held);
    chain.working = undefined;
    this.#forget(chain);
    return all;
  }

  /** Evicts ready chains, the last first, until at most `limit` deliveries are held. */
  shrink(limit: number): Held[] {
    const evicted: Held[] = [];
    while (this.#size > limit) {
      const chain = this.#ready.pop();
      if (!chain) break;
      evicted.push(...this.evict(chain));
    }
    return evicted;
  }

  /**
   * Takes one out of its chain, which goes on, into one of its own: it is no longer in the order. Answers
   * the chain that it is in then.
   */
  isolate(chain: Chain, held: Held): Chain {
    const key = chainKey(held);
    if (chain.key === key) return chain;
    this.remove(chain, held);
    if (chain.working === held) this.done(chain);
    const own = new Chain(key);
    own.add(held);
    this.#size++;
    this.#chains.set(key, own);
    return own;
  }

  /** Those that wait for first attempts of others, and have waited long enough, wait no more. */
  separate(nowMs: number): void {
    for (const chain of [...this.#chains.values()]) {
      if (chain.all.length < 2) continue;
      for (const held of chain.all.slice(1)) {
        if (held.delivery.order !== 'tried' || held === chain.working || held.patientUntilMs > nowMs)
          continue;
        held.alone = true;
        this.#ready.push(this.isolate(chain, held));
      }
    }
  }

  /** Takes out first deliveries of chains, ready or waiting, that `test` picks. */
  pick(test: (held: Held) => boolean): Held[] {
    const picked: Held[] = [];
    for (const chain of [...this.#ready, ...this.#waiting.keys()]) {
      for (let first = chain.first; first && test(first); first = chain.first) {
        this.remove(chain, first);
        picked.push(first);
      }
      if (!chain.first) this.#forget(chain);
    }
    return picked;
  }

  /** Waiting chains are ready at once. */
  wakeAll(): void {
    for (const chain of [...this.#waiting.keys()]) this.#wake(chain);
  }

  #wake(chain: Chain): void {
    clearTimeout(this.#waiting.get(chain));
    this.#waiting.delete(chain);
    this.#ready.push(chain);
  }

  #forget(chain: Chain): void {
    clearTimeout(this.#waiting.get(chain));
    this.#waiting.delete(chain);
    const place = this.#ready.indexOf(chain);
    if (place >= 0) this.#ready.splice(place, 1);
    if (this.#chains.get(chain.key) === chain) this.#chains.delete(chain.key);
  }
}
