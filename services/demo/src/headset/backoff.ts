import { type BackoffBounds, backoffMs } from '@headset-cloud/runtime/backoff.ts';

/** A session that lasted this long after its welcome counts as successful; milliseconds. */
const goodSessionMs = 60_000;

/**
 * How long a headset waits before it connects again (protocol page, "Connecting"). A welcome alone does not
 * reset the wait, because the cause that ends sessions may follow each welcome.
 */
export class Backoff {
  readonly #bounds: BackoffBounds;
  #failures = 0;
  #welcomedMs: number | undefined;
  #notBeforeMs = 0;

  constructor(bounds: BackoffBounds = { firstMs: 500, maxMs: 60_000 }) {
    this.#bounds = bounds;
  }

  /** A session has begun. */
  welcomed(): void {
    this.#welcomedMs = performance.now();
  }

  /** A report was acknowledged, or the server drains. */
  reset(): void {
    this.#failures = 0;
  }

  /** A session or a connection attempt has ended. Returns how long to wait; milliseconds. */
  ended(): number {
    const lastedMs = this.#welcomedMs === undefined ? 0 : performance.now() - this.#welcomedMs;
    this.#welcomedMs = undefined;
    if (lastedMs >= goodSessionMs) this.reset();
    this.#failures += 1;
    return backoffMs(this.#failures, this.#bounds);
  }

  /** The next connection comes no sooner than after `ms`. */
  atLeast(ms: number): void {
    this.#notBeforeMs = Math.max(this.#notBeforeMs, Date.now() + ms);
  }

  /** The next connection comes after `ms`, whatever wait was requested before. */
  awayFor(ms: number): void {
    this.#notBeforeMs = Date.now() + ms;
  }

  /** `ms`, or the rest of a longer requested wait; milliseconds. */
  wait(ms: number): number {
    return Math.max(ms, this.#notBeforeMs - Date.now(), 0);
  }
}
