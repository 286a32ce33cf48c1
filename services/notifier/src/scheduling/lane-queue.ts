import { systemTime, type Time, type Timer } from '@headset-cloud/kit/clock.ts';
import { Chain, chainKey, type QueueEntry } from '../domain/chain.ts';
import type { Delivery } from '../domain/delivery.ts';
import { placesOf } from '../domain/window.ts';

/** A chain that is being worked on, with the entry that was its first when it was taken. */
export interface Taken {
  readonly chain: Chain;
  readonly entry: QueueEntry;
}

/**
 * The deliveries of one lane that this instance owns, as chains that are ready, being worked on, or
 * waiting for a time. `onReady` is called when a waiting one's time has come.
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

  /** Places that its deliveries take. */
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
   * Of what was claimed, what is not here already: after a pause of the process, or a step of its clock,
   * it may have claimed what it has. That has a new lease then.
   */
  unknownOf(claimed: readonly Delivery[]): Delivery[] {
    const known = new Map([...this.entries()].map((entry) => [entry.delivery.id, entry]));
    return claimed.filter(({ id, dueAtMs }) => {
      const entry = known.get(id);
      if (entry) entry.delivery = { ...entry.delivery, dueAtMs };
      return !entry;
    });
  }

  /** Takes a delivery in; answers those that it, or a later one, replaces. */
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
    this.#size += placesOf(entry.delivery);
    for (const { delivery } of replaced) this.#size -= placesOf(delivery);
    // What the chain waited for may be gone: the new first one has its own time.
    if (chain.first !== first && this.#waiting.has(chain)) this.#wake(chain);
    return replaced;
  }

  /** The next chain to work on. Give it back by `done` or `putOff`. */
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
      this.#time.setTimeout(() => {
        this.#wake(chain);
        this.#onReady();
      }, delayMs),
    );
  }

  /** Takes a delivery out of its chain. */
  remove({ chain, entry }: Taken): void {
    if (chain.remove(entry)) this.#size -= placesOf(entry.delivery);
  }

  /** Takes one out wherever it is, unless it is being worked on. */
  drop(entry: QueueEntry): void {
    const chain = this.#chains.get(chainKey(entry));
    if (chain?.working === entry) entry.lost = true;
    if (!chain || chain.working === entry) return;
    this.remove({ chain, entry });
    if (!chain.first && !chain.working) this.#forget(chain);
  }

  /** Takes a whole chain out that was taken; answers what stood in it. */
  evict(chain: Chain): QueueEntry[] {
    const all = [...chain.all];
    for (const entry of all) this.remove({ chain, entry });
    chain.working = undefined;
    this.#forget(chain);
    return all;
  }

  /** Evicts ready chains, the last first, until at most `limit` places are taken, or one large delivery is left. */
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
   * Takes one out of its chain, which goes on, into one of its own: it is no longer in the order. Answers
   * the chain that it is in then.
   */
  isolate({ chain, entry }: Taken): Chain {
    const key = chainKey(entry);
    if (chain.key === key) return chain;
    this.remove({ chain, entry });
    if (chain.working === entry) this.done(chain);
    const own = new Chain(key);
    own.add(entry);
    this.#size += placesOf(entry.delivery);
    this.#chains.set(key, own);
    return own;
  }

  /** Those that wait for first attempts of others, and have waited long enough, wait no more. */
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

  /** Takes out first deliveries of chains, ready or waiting, that `test` picks. */
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

  /** Waiting chains are ready at once. */
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
