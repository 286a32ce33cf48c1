/** A session that lasted so long after its welcome was a good one; milliseconds. */
const goodSessionMs = 60_000;

/** Bounds of the wait between two tries to connect; milliseconds. */
export interface BackoffBounds {
  readonly firstMs: number;
  readonly longestMs: number;
}

/**
 * How long a headset waits before it connects again (protocol page, "Connecting"). A welcome alone is no sign
 * that all is well: what ends a session may come after each.
 */
export class Backoff {
  readonly #bounds: BackoffBounds;
  #failures = 0;
  #welcomedMs: number | undefined;
  #notBeforeMs = 0;

  constructor(bounds: BackoffBounds = { firstMs: 500, longestMs: 60_000 }) {
    this.#bounds = bounds;
  }

  /** `resets`: for a headset that breaks the rules. */
  welcomed(resets: boolean): void {
    this.#welcomedMs = performance.now();
    if (resets) this.reset();
  }

  /** A report was acknowledged, or the server drains. */
  reset(): void {
    this.#failures = 0;
  }

  /** The cloud sends it away. */
  sentAway(): void {
    this.#failures += 1;
  }

  /** A session, or a try to have one, is over. Answers how long to wait; milliseconds. */
  ended(): number {
    const lastedMs = this.#welcomedMs === undefined ? 0 : performance.now() - this.#welcomedMs;
    this.#welcomedMs = undefined;
    if (lastedMs >= goodSessionMs) this.reset();
    const { firstMs, longestMs } = this.#bounds;
    const ceiling = Math.min(longestMs, firstMs * 2 ** Math.min(this.#failures, 16));
    this.#failures += 1;
    return Math.random() * ceiling;
  }

  /** Connects no sooner than after `ms`. */
  atLeast(ms: number): void {
    this.#notBeforeMs = Math.max(this.#notBeforeMs, Date.now() + ms);
  }

  /** Connects after `ms`, whatever was asked for before. */
  awayFor(ms: number): void {
    this.#notBeforeMs = Date.now() + ms;
  }

  /** The wait of `ms`, or what is left of a longer one that was asked for; milliseconds. */
  wait(ms: number): number {
    return Math.max(ms, this.#notBeforeMs - Date.now(), 0);
  }
}
