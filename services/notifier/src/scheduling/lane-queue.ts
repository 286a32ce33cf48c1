import type { Time } from '@headset-cloud/runtime/clock.ts';
import { Chain, chainKey, type QueueEntry } from '../domain/chain.ts';
import type { Delivery, DeliveryChange } from '../domain/delivery.ts';
import { givenBack, givenUp, nextStep, type Step, type TryOutcome } from '../domain/next-step.ts';
import { ended } from '../domain/outcome.ts';
import { windowUnitsOf } from '../domain/window.ts';
import type { FinishedOrders } from './finished-orders.ts';

/** A chain that is being worked on, with its first entry at the time it was taken. */
export interface Taken {
  readonly chain: Chain;
  readonly entry: QueueEntry;
}

/** A delivery that has changed in the queue. The change must be stored. */
export interface Changed {
  readonly delivery: Delivery;
  readonly change: DeliveryChange;
}

/**
 * The deliveries of one lane that this instance owns, as chains that are ready, being worked on, or waiting for a time.
 * Each method that changes or removes deliveries returns the changes to store. The queue calls nothing and has no
 * timer.
 */
export class LaneQueue {
  readonly #chains = new Map<string, Chain>();
  readonly #ready: Chain[] = [];
  /** Waiting chains, with the time when each is ready; monotonic clock, milliseconds. */
  readonly #waiting = new Map<Chain, number>();
  readonly #clock: Pick<Time, 'now' | 'monotonicNow'>;
  readonly #finished: FinishedOrders;
  #size = 0;
  /** No waiting chain becomes ready before this time; monotonic clock, milliseconds. */
  #readyAtMs = Number.POSITIVE_INFINITY;

  constructor(clock: Pick<Time, 'now' | 'monotonicNow'>, finished: FinishedOrders) {
    this.#clock = clock;
    this.#finished = finished;
  }

  /** Window units of its deliveries. */
  get size(): number {
    return this.#size;
  }

  get readyCount(): number {
    return this.#ready.length;
  }

  /** When `wake` must be called next, at the latest; monotonic clock, milliseconds; infinite if nothing waits. */
  get wakeAtMs(): number {
    return this.#readyAtMs;
  }

  *entries(): Iterable<QueueEntry> {
    for (const chain of this.#chains.values()) yield* chain.all;
  }

  /**
   * Returns the claimed deliveries that are not queued yet. After a pause of the process, or a clock step, an instance
   * may claim its own deliveries. These get the new lease.
   */
  notQueuedOf(claimed: readonly Delivery[]): Delivery[] {
    const known = new Map([...this.entries()].map((entry) => [entry.delivery.id, entry]));
    return claimed.filter(({ id, dueAtMs }) => {
      const entry = known.get(id);
      if (entry) entry.delivery = { ...entry.delivery, dueAtMs };
      return !entry;
    });
  }

  /** Adds a delivery. It may replace others, or be replaced by a later one. */
  add(entry: QueueEntry): Changed[] {
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
    // The chain waited for the time of its former first delivery. The new first delivery can be tried now.
    if (chain.first !== first && this.#waiting.has(chain)) this.#wake(chain);
    return replaced.map(({ delivery }) => ({ delivery, change: ended('replaced', this.#clock.now()) }));
  }

  /** The next chain to work on. Must be passed to `afterTry` after the try. */
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

  /** After a try: decides the next step (domain/next-step.ts) and carries it out. */
  afterTry(
    taken: Taken,
    outcome: TryOutcome,
    lane: { readonly crowded: boolean; readonly stopping: boolean },
  ): Changed[] {
    const { chain, entry } = taken;
    const { delivery } = entry;
    const step = nextStep(delivery, outcome, {
      nowMs: this.#clock.now(),
      first: chain.first === entry,
      last: chain.last === entry,
      inOrder: delivery.order === 'tried' && this.#finished.knows(delivery),
      crowded: lane.crowded,
      stopping: lane.stopping,
    });
    if ('finishesOrder' in step && step.finishesOrder)
      this.#finished.set(delivery.orderKey, delivery.sequence);
    return this.#run(taken, step);
  }

  /** Removes a delivery that another instance has taken. While the delivery is being worked on, it is only marked. */
  drop(entry: QueueEntry): void {
    const chain = this.#chains.get(chainKey(entry));
    if (chain?.working === entry) entry.lost = true;
    if (!chain || chain.working === entry) return;
    this.#remove({ chain, entry });
    if (!chain.first && !chain.working) this.#forget(chain);
  }

  /**
   * Gives ready chains back to any instance with free memory, the last first, until at most `limit` window units are
   * used, or one large delivery is left.
   */
  shrink(limit: number): Changed[] {
    const evicted: QueueEntry[] = [];
    while (this.#size > limit) {
      const chain = this.#ready.at(-1);
      if (!chain) break;
      if (limit > 0 && this.#chains.size === 1 && chain.all.length === 1) break;
      this.#ready.pop();
      evicted.push(...this.#evict(chain));
    }
    return evicted.map(toGiveBack);
  }

  /** Moves deliveries whose maximum wait for first attempts of others is over into chains of their own. */
  separate(): void {
    for (const chain of [...this.#chains.values()]) {
      if (chain.all.length < 2) continue;
      for (const entry of chain.all.slice(1)) {
        const waits = entry.delivery.order === 'tried' && entry !== chain.working;
        if (!waits || entry.orderWaitUntilMs > this.#clock.monotonicNow()) continue;
        entry.alone = true;
        this.#ready.push(this.#isolate({ chain, entry }));
      }
    }
  }

  /** Gives up first deliveries of chains, ready or waiting, that match `test`, without another attempt. */
  giveUp(test: (delivery: Delivery) => boolean, reason: string): Changed[] {
    const changed: Changed[] = [];
    for (const chain of [...this.#ready, ...this.#waiting.keys()]) {
      for (let entry = chain.first; entry && test(entry.delivery); entry = chain.first) {
        const { delivery } = entry;
        this.#remove({ chain, entry });
        changed.push({ delivery, change: givenUp(delivery, reason, this.#clock.now()) });
      }
      if (!chain.first) this.#forget(chain);
    }
    return changed;
  }

  /** Makes waiting chains ready when their time has come. */
  wake(): void {
    const nowMs = this.#clock.monotonicNow();
    if (nowMs < this.#readyAtMs) return;
    for (const [chain, atMs] of [...this.#waiting]) if (atMs <= nowMs) this.#wake(chain);
    this.#readyAtMs = Math.min(...this.#waiting.values());
  }

  /** Makes waiting chains ready at once. */
  wakeAll(): void {
    for (const chain of [...this.#waiting.keys()]) this.#wake(chain);
    this.#readyAtMs = Number.POSITIVE_INFINITY;
  }

  #run(taken: Taken, step: Step): Changed[] {
    const { chain, entry } = taken;
    switch (step.kind) {
      case 'end':
        this.#remove(taken);
        this.#done(chain);
        return [{ delivery: entry.delivery, change: step.change }];
      case 'drop':
        this.#remove(taken);
        this.#done(chain);
        return [];
      case 'wait':
        this.#postpone(this.#change(taken, step.change), step.delayMs);
        return step.change ? [{ delivery: entry.delivery, change: step.change }] : [];
      case 'release':
        return this.#evict(this.#change(taken, step.change)).map((each) => {
          const own = each === entry ? step.change : undefined;
          return { delivery: each.delivery, change: { ...own, owner: null, dueAtMs: step.untilMs } };
        });
      case 'give back':
        return this.#evict(chain).map(toGiveBack);
      case 'again':
        this.#done(chain, 'again');
        return [];
    }
  }

  /**
   * Changes a delivery that stays pending. Returns its chain, which is a separate chain after it has left its order.
   */
  #change(taken: Taken, change: DeliveryChange | undefined): Chain {
    const { chain, entry } = taken;
    if (!change) return chain;
    entry.delivery = { ...entry.delivery, ...change };
    const now = change.order === 'none' ? this.#isolate(taken) : chain;
    now.working = entry;
    return now;
  }

  /** Ends the work on a chain; 'again': it is tried again, before others. */
  #done(chain: Chain, order: 'next' | 'again' = 'next'): void {
    chain.working = undefined;
    if (!chain.first) this.#chains.delete(chain.key);
    else if (order === 'again') this.#ready.unshift(chain);
    else this.#ready.push(chain);
  }

  /** Lets the chain wait for `delayMs`. */
  #postpone(chain: Chain, delayMs: number): void {
    chain.working = undefined;
    const atMs = this.#clock.monotonicNow() + delayMs;
    this.#waiting.set(chain, atMs);
    this.#readyAtMs = Math.min(this.#readyAtMs, atMs);
  }

  #remove({ chain, entry }: Taken): void {
    if (chain.remove(entry)) this.#size -= windowUnitsOf(entry.delivery);
  }

  /** Removes a whole chain that was taken. Returns its entries. */
  #evict(chain: Chain): QueueEntry[] {
    const all = [...chain.all];
    for (const entry of all) this.#remove({ chain, entry });
    chain.working = undefined;
    this.#forget(chain);
    return all;
  }

  /**
   * Moves a delivery from its chain, which continues, into a separate chain: it is no longer in the order. Returns
   * the new chain.
   */
  #isolate({ chain, entry }: Taken): Chain {
    const key = chainKey(entry);
    if (chain.key === key) return chain;
    this.#remove({ chain, entry });
    if (chain.working === entry) this.#done(chain);
    const own = new Chain(key);
    own.add(entry);
    this.#size += windowUnitsOf(entry.delivery);
    this.#chains.set(key, own);
    return own;
  }

  #wake(chain: Chain): void {
    this.#waiting.delete(chain);
    this.#ready.push(chain);
  }

  #forget(chain: Chain): void {
    this.#waiting.delete(chain);
    const index = this.#ready.indexOf(chain);
    if (index >= 0) this.#ready.splice(index, 1);
    if (this.#chains.get(chain.key) === chain) this.#chains.delete(chain.key);
  }
}

const toGiveBack = ({ delivery }: QueueEntry): Changed => ({ delivery, change: givenBack(delivery) });
