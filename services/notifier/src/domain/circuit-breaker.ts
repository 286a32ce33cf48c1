import { backoffMs } from '@headset-cloud/runtime/backoff.ts';

export interface BreakerRules {
  readonly maxInFlight: number;
  /** Number of consecutive failures after which the destination is failing. */
  readonly failingAfter: number;
  readonly probeFirstMs: number;
  readonly probeMaxMs: number;
}

/**
 * Lets callbacks through to one destination (origin and application): a limited number at a time while it is healthy,
 * one probe at a time with growing pauses while it is failing (rule B10). Pure except for its own counters. Each call
 * passes the time (monotonic, because a step of the wall clock must not stop callbacks) and randomness (in [0, 1)).
 */
export class CircuitBreaker {
  readonly #rules: BreakerRules;
  #inFlight = 0;
  #failuresInARow = 0;
  #failing = false;
  /** True if the request that was started last is a probe. */
  #isProbing = false;
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

  /** Number of further callbacks until this multiple of the limit is reached; 0 while failing. */
  capacityFor(multiple: number): number {
    return this.#failing ? 0 : Math.max(0, multiple * this.#rules.maxInFlight - this.#inFlight);
  }

  /** Nothing starts before this time; monotonic milliseconds. */
  get notBeforeMs(): number {
    return this.#notBeforeMs;
  }

  mayStart(nowMs: number): boolean {
    return nowMs >= this.#notBeforeMs && this.#inFlight < (this.#failing ? 1 : this.#rules.maxInFlight);
  }

  enter(): void {
    this.#inFlight++;
    this.#isProbing = this.#failing;
  }

  /** Ends a request that showed nothing about the destination. */
  leave(): void {
    this.#inFlight--;
  }

  /** Records that the destination accepted a callback. Returns true if it was failing before. */
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
   * Records that the destination did not accept a callback. `retryAfterMs` is its Retry-After. Returns true if the
   * destination becomes failing with this call.
   */
  failed(nowMs: number, random: number, retryAfterMs?: number): boolean {
    this.#inFlight--;
    this.#failuresInARow++;
    const began = !this.#failing && this.#failuresInARow >= this.#rules.failingAfter;
    this.#failing ||= began;
    let pauseMs = retryAfterMs ?? 0;
    // Requests that were in flight when it began to fail are not probes. The first probe starts after they have ended.
    if (this.#failing && (began || this.#isProbing)) {
      this.#probes++;
      const bounds = { firstMs: this.#rules.probeFirstMs, maxMs: this.#rules.probeMaxMs };
      pauseMs = Math.max(pauseMs, backoffMs(this.#probes, bounds, random));
    }
    this.#notBeforeMs = Math.max(this.#notBeforeMs, nowMs + pauseMs);
    return began;
  }
}
