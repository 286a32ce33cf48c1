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
 * End of a change. lost: the change has a whole delivery, which another instance has stored and owns
 * (`DeliveryStore.apply`). given up: the process stops before the change is stored.
 */
export type WriteResult = 'stored' | 'lost' | 'given up';

interface Write {
  readonly changed: ConditionalChange;
  readonly result: PromiseWithResolvers<WriteResult>;
}

/**
 * Stores outcomes of deliveries, many in one write. A change is durable some milliseconds after it was added. A crash
 * before that only repeats a callback with the same webhook-id. Changes are kept until the database has stored them.
 */
export class ChangeWriter {
  readonly #store: Pick<DeliveryStore, 'apply'>;
  readonly #logger: Logger;
  readonly #time: Time;
  #waiting = new Map<string, Write>();
  #writing = new Map<string, Write>();
  #running: Promise<void> | undefined;
  #givenUp = false;
  /** Maximum changes of the next write. Halved after a failed write, because it may have been too large; then grows. */
  #most = maxBatch;

  constructor(store: Pick<DeliveryStore, 'apply'>, logger: Logger, time: Time = systemTime) {
    this.#store = store;
    this.#logger = logger;
    this.#time = time;
  }

  /** Adds a change. Resolves when it has ended; never rejects. */
  add(added: ConditionalChange): Promise<WriteResult> {
    const { id, change } = added;
    const earlier = this.#waiting.get(id);
    const result = earlier?.result ?? Promise.withResolvers<WriteResult>();
    // One write has at most one change of a delivery: a later change is merged into the earlier one.
    const changed = earlier
      ? { ...added, whole: earlier.changed.whole, change: { ...earlier.changed.change, ...change } }
      : added;
    this.#waiting.set(id, { changed, result });
    if (this.#givenUp) result.resolve('given up');
    this.#running ??= this.#run();
    return result.promise;
  }

  /** True while a change of this delivery is not stored. */
  has(id: string): boolean {
    return this.#waiting.has(id) || this.#writing.has(id);
  }

  /** Returns the delivery's end while this end is not stored yet; otherwise undefined. */
  endOf(id: string): 'delivered' | 'dead' | 'replaced' | undefined {
    const status = this.#unstored(id)[0]?.changed.change.status;
    return status === 'pending' ? undefined : status;
  }

  /**
   * True if later deliveries no longer wait for this one, by its end or its first attempt, and this is not stored yet.
   */
  hasLeftOrder(id: string): boolean {
    return this.#unstored(id).some(
      ({ changed: { change } }) => change.order === 'none' || (change.status ?? 'pending') !== 'pending',
    );
  }

  /** Resolves when the changes of these deliveries that were added so far have ended. */
  async stored(ids: readonly string[]): Promise<void> {
    await Promise.all(ids.flatMap((id) => this.#unstored(id)).map(({ result }) => result.promise));
  }

  /** True while too many changes are unstored to start anything new. */
  get full(): boolean {
    return this.#waiting.size >= fullAt;
  }

  /** Resolves when everything added so far is stored, at the latest after `timeoutMs`. Then the rest is given up. */
  async flush(timeoutMs: number): Promise<void> {
    const end = new AbortController();
    await Promise.race([this.#running, this.#time.sleep(timeoutMs, { signal: end.signal }).catch(() => {})]);
    end.abort();
    this.#givenUp = true;
    for (const { result } of [...this.#waiting.values(), ...this.#writing.values()])
      result.resolve('given up');
  }

  /** Unstored changes of a delivery, the later one first. */
  #unstored(id: string): Write[] {
    return [this.#waiting.get(id), this.#writing.get(id)].filter((write) => write !== undefined);
  }

  async #run(): Promise<void> {
    let failures = 0;
    while (this.#waiting.size > 0) {
      if (this.#waiting.size < maxBatch && !this.#givenUp) await this.#time.sleep(gatherMs);
      this.#writing = take(this.#waiting, maxBatch);
      while (this.#writing.size > 0) {
        const some = [...this.#writing].slice(0, this.#most);
        try {
          const lost = await this.#store.apply(some.map(([, { changed }]) => changed));
          for (const [id, { result }] of some) {
            this.#writing.delete(id);
            result.resolve(lost.has(id) ? 'lost' : 'stored');
          }
          failures = 0;
          this.#most = Math.min(maxBatch, this.#most + Math.ceil(this.#most / 8));
        } catch (error) {
          failures++;
          this.#most = Math.max(1, Math.floor(some.length / 2));
          if (this.#givenUp) return;
          this.#logger.warn(
            { err: error, changes: some.length },
            'outcomes of callbacks not stored, retrying',
          );
          await this.#time.sleep(longestBackoffMs(failures, retry));
        }
      }
    }
    this.#running = undefined;
  }
}

function take(from: Map<string, Write>, count: number): Map<string, Write> {
  const taken = new Map<string, Write>();
  for (const [id, write] of from) {
    if (taken.size >= count) break;
    taken.set(id, write);
    from.delete(id);
  }
  return taken;
}
