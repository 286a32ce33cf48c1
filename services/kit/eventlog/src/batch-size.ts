const initialSize = 10;
/** A slower batch reduces the size; milliseconds. */
const slowMs = 2000;
/** A faster batch increases the size. */
const fastMs = slowMs / 2;

/**
 * Number of events in a batch, adapted so that a batch is handled within two seconds. The position is stored only after
 * the whole batch. With a fixed size and a slow store, a process that crashes every few seconds would never finish its
 * first batch.
 */
export class BatchSize {
  readonly #max: number;
  #size: number;

  constructor(max: number) {
    this.#max = max;
    this.#size = Math.min(max, initialSize);
  }

  /** Current size. */
  get current(): number {
    return this.#size;
  }

  /** Adapts the size to a batch of this many events that took `ms` milliseconds. */
  adapt(events: number, ms: number): void {
    if (ms > slowMs) this.#size = Math.max(1, Math.min(this.#size, Math.floor((events * slowMs) / ms)));
    else if (ms < fastMs && events >= this.#size) this.#size = Math.min(this.#max, 2 * this.#size);
  }
}
