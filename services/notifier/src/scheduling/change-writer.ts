import { longestBackoffMs } from '@headset-cloud/runtime/backoff.ts';
import { systemTime, type Time } from '@headset-cloud/runtime/clock.ts';
import type { Logger } from '@headset-cloud/runtime/logger.ts';
import type { ConditionalChange, DeliveryStore } from '../ports/delivery-store.ts';

const maxBatch = 1000;
const retry = { firstMs: 200, maxMs: 2000 };
/** Time in which outcomes are collected before one write stores them together; milliseconds. */
const gatherMs = 10;
/** Number of unstored changes above which nothing new is started. */
const fullAt = 5000;

/**
 * Stores outcomes of deliveries, many in one write. A change is durable some milliseconds after it was added. A crash
 * before that only repeats a callback with the same webhook-id. Changes are kept until the database has stored them.
 */
export class ChangeWriter {
  readonly #store: DeliveryStore;
  readonly #logger: Logger;
  readonly #time: Time;
  #waiting = new Map<string, ConditionalChange>();
  #writing = new Map<string, ConditionalChange>();
  #running: Promise<void> | undefined;
  #afterWrite: PromiseWithResolvers<void> | undefined;
  #givenUp = false;
  /** Maximum changes of the next write: half of a write that was too large for the database, then slowly more. */
  #most = maxBatch;

  constructor(store: DeliveryStore, logger: Logger, time: Time = systemTime) {
    this.#store = store;
    this.#logger = logger;
    this.#time = time;
  }

  /** Called when changes can be added again. */
  onNotFull: () => void = () => {};
  /** Called when a delivery is stored for the first time; `lost`: it belongs to another instance. */
  onRecorded: (id: string, lost: boolean) => void = () => {};

  add(added: ConditionalChange): void {
    const { id, change } = added;
    const earlier = this.#waiting.get(id);
    // One write has at most one change of a delivery: a later change is merged into the earlier one.
    this.#waiting.set(
      id,
      earlier ? { ...added, whole: earlier.whole, change: { ...earlier.change, ...change } } : added,
    );
    this.#running ??= this.#run();
  }

  /** True while a change of this delivery is not stored. */
  has(id: string): boolean {
    return this.#waiting.has(id) || this.#writing.has(id);
  }

  /** The end of this delivery while it is not stored yet. */
  endOf(id: string): 'delivered' | 'dead' | 'replaced' | undefined {
    const status = (this.#waiting.get(id) ?? this.#writing.get(id))?.change.status;
    return status === 'pending' ? undefined : status;
  }

  /** True if this delivery has left its order, by its end or its first attempt, and that is not stored yet. */
  left(id: string): boolean {
    return [this.#waiting.get(id), this.#writing.get(id)].some(
      (unstored) => unstored?.change.order === 'none' || (unstored?.change.status ?? 'pending') !== 'pending',
    );
  }

  /** Resolves when all changes of these deliveries are stored, or storing was given up at a shutdown. */
  async stored(ids: readonly string[]): Promise<void> {
    while (!this.#givenUp && ids.some((id) => this.has(id))) {
      this.#afterWrite ??= Promise.withResolvers();
      await this.#afterWrite.promise;
    }
  }

  get full(): boolean {
    return this.#waiting.size >= fullAt;
  }

  /** Resolves when everything added so far is stored, at the latest after `timeoutMs`. */
  async flush(timeoutMs: number): Promise<void> {
    const end = new AbortController();
    await Promise.race([this.#running, this.#time.sleep(timeoutMs, { signal: end.signal }).catch(() => {})]);
    end.abort();
    this.#givenUp = true;
    this.#wroteSome();
  }

  async #run(): Promise<void> {
    let failures = 0;
    while (this.#waiting.size > 0) {
      if (this.#waiting.size < maxBatch && !this.#givenUp) await this.#time.sleep(gatherMs);
      const wasFull = this.full;
      this.#writing = take(this.#waiting, maxBatch);
      while (this.#writing.size > 0) {
        const some = [...this.#writing.values()].slice(0, this.#most);
        try {
          const lost = await this.#store.apply(some);
          for (const { id } of some) this.#writing.delete(id);
          for (const { id, whole } of some) if (whole) this.onRecorded(id, lost.has(id));
          this.#wroteSome();
          failures = 0;
          this.#most = Math.min(maxBatch, this.#most + Math.ceil(this.#most / 8));
        } catch (error) {
          failures++;
          this.#most = Math.max(1, Math.floor(some.length / 2));
          if (this.#givenUp) return;
          this.#logger.warn({ err: error, marks: some.length }, 'outcomes of callbacks not stored, retrying');
          await this.#time.sleep(longestBackoffMs(failures, retry));
        }
      }
      if (wasFull && !this.full) this.onNotFull();
    }
    this.#running = undefined;
  }

  #wroteSome(): void {
    this.#afterWrite?.resolve();
    this.#afterWrite = undefined;
  }
}

function take(from: Map<string, ConditionalChange>, count: number): Map<string, ConditionalChange> {
  const taken = new Map<string, ConditionalChange>();
  for (const [id, change] of from) {
    if (taken.size >= count) break;
    taken.set(id, change);
    from.delete(id);
  }
  return taken;
}
