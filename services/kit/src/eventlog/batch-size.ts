/** So many are handled together at first. */
const first = 10;
/** What takes longer is made smaller; milliseconds. */
const longMs = 2000;
/** What takes less is made larger. */
const shortMs = longMs / 2;

/**
 * How many events are handled together: as many as are done within two seconds, since their position is stored only
 * behind all of them. Where many take hardly longer than few, that is as many as there may be. With batches of a fixed
 * size a process that dies every few seconds, on stores that are slow, gets no further than the first one, again and
 * again.
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

  /** So many were handled, in so many milliseconds. */
  took(events: number, ms: number): void {
    if (ms > longMs) this.#size = Math.max(1, Math.min(this.#size, Math.floor((events * longMs) / ms)));
    else if (ms < shortMs && events >= this.#size) this.#size = Math.min(this.#most, 2 * this.#size);
  }
}
