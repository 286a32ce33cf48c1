import { type BackoffBounds, backoffMs } from '@headset-cloud/runtime/backoff.ts';

/** A session that lasted this long after its welcome counts as successful; milliseconds. */
const goodSessionMs = 60_000;

/**
 * Wait before the next connection attempt (protocol page, "Connecting"). A welcome alone does not reset the wait: a
 * fault that ends each session shortly after its welcome must not cause a fast reconnect loop.
 */
export class Backoff {
  readonly #bounds: BackoffBounds;
  #failures = 0;
  #welcomedMs: number | undefined;
  #notBeforeMs = 0;

  constructor(bounds: BackoffBounds = { firstMs: 500, maxMs: 60_000 }) {
    this.#bounds = bounds;
  }

  /** Call it when a session has begun. */
  welcomed(): void {
    this.#welcomedMs = performance.now();
  }

  /** Call it when a report was acknowledged, or when the server drains. */
  reset(): void {
    this.#failures = 0;
  }

  /** Call it when a session or a connection attempt has ended. Returns the wait; milliseconds. */
  ended(): number {
    const lastedMs = this.#welcomedMs === undefined ? 0 : performance.now() - this.#welcomedMs;
    this.#welcomedMs = undefined;
    if (lastedMs >= goodSessionMs) this.reset();
    this.#failures += 1;
    return backoffMs(this.#failures, this.#bounds);
  }

  /** Sets a minimum for the next wait; milliseconds. */
  raiseMinimum(ms: number): void {
    this.#notBeforeMs = Math.max(this.#notBeforeMs, Date.now() + ms);
  }

  /** Replaces the minimum of the next wait; milliseconds. */
  replaceMinimum(ms: number): void {
    this.#notBeforeMs = Date.now() + ms;
  }

  /** Returns `ms`, or the remaining minimum wait if that is longer; milliseconds. */
  wait(ms: number): number {
    return Math.max(ms, this.#notBeforeMs - Date.now(), 0);
  }
}
