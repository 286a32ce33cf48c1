import { backoffMs } from '@headset-cloud/kit/backoff.ts';

export interface BreakerRules {
  readonly maxInFlight: number;
  /** Failures in a row after which the destination is failing. */
  readonly failingAfter: number;
  readonly probeFirstMs: number;
  readonly probeMaxMs: number;
}

/**
 * Lets callbacks through to one destination (origin and application): a capped number at a time
 * while it is healthy, one probe at a time with growing pauses while it is failing (rule B10).
 * Pure but for its own counters; time (monotonic: a step of the wall clock must not stop deliveries)
 * and randomness (in [0, 1)) come with each call.
 */
export class CircuitBreaker {
  readonly #rules: BreakerRules;
  #inFlight = 0;
  #failuresInARow = 0;
  #failing = false;
  #probes = 0;
  #notBeforeMs = 0;

  constructor(rules: BreakerRules) {
    this.#rules = rules;
  }

  get failing(): boolean {
    return this.#failing;
  }

  get inFlight(): number {
    return this.#inFlight;
  }

  /** How many more go before so many turns of its cap are over; none while it is failing. */
  roomFor(turns: number): number {
    return this.#failing ? 0 : Math.max(0, turns * this.#rules.maxInFlight - this.#inFlight);
  }

  /** Before this time nothing starts; monotonic milliseconds. */
  get notBeforeMs(): number {
    return this.#notBeforeMs;
  }

  mayStart(nowMs: number): boolean {
    return nowMs >= this.#notBeforeMs && this.#inFlight < (this.#failing ? 1 : this.#rules.maxInFlight);
  }

  enter(): void {
    this.#inFlight++;
  }

  /** Nothing was learned about the destination. */
  leave(): void {
    this.#inFlight--;
  }

  /** It took a callback. Answers true when it was failing until now. */
  succeeded(): boolean {
    this.#inFlight--;
    this.#failuresInARow = 0;
    this.#probes = 0;
    this.#notBeforeMs = 0;
    const recovered = this.#failing;
    this.#failing = false;
    return recovered;
  }

  /**
   * It did not take a callback; `retryAfterMs` is what it asked for. Answers true when it is failing
   * from now on and was not before.
   */
  failed(nowMs: number, random: number, retryAfterMs?: number): boolean {
    this.#inFlight--;
    this.#failuresInARow++;
    const began = !this.#failing && this.#failuresInARow >= this.#rules.failingAfter;
    this.#failing ||= began;
    let pauseMs = retryAfterMs ?? 0;
    // Those that were in flight together when it began to fail are no probes.
    if (this.#failing && (began || this.#inFlight === 0)) {
      this.#probes++;
      const bounds = { firstMs: this.#rules.probeFirstMs, maxMs: this.#rules.probeMaxMs };
      pauseMs = Math.max(pauseMs, backoffMs(this.#probes, bounds, random));
    }
    this.#notBeforeMs = Math.max(this.#notBeforeMs, nowMs + pauseMs);
    return began;
  }
}
