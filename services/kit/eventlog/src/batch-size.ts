/** Initial batch size. */
const first = 10;
/** A slower batch reduces the size; milliseconds. */
const longMs = 2000;
/** A faster batch increases the size. */
const shortMs = longMs / 2;

/**
 * Adaptive number of events in a batch: as many as are handled within two seconds, because the position is stored only
 * after the whole batch. If many events take hardly longer than few, the size grows to its maximum. With a fixed size, a
 * process that crashes every few seconds on slow stores would never finish its first batch.
 */
export class BatchSize {
  readonly #most: number;
  #size: number;

  constructor(most: number) {
    this.#most = most;
    this.#size = Math.min(most, first);
  }

  get now(): number {
    return this.#size;
  }

  /** Adapts the size to a batch of this many events that took `ms` milliseconds. */
  took(events: number, ms: number): void {
    if (ms > longMs) this.#size = Math.max(1, Math.min(this.#size, Math.floor((events * longMs) / ms)));
    else if (ms < shortMs && events >= this.#size) this.#size = Math.min(this.#most, 2 * this.#size);
  }
}
