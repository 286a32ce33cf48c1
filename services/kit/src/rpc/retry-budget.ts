import { systemTime, type Time } from '../clock.ts';

/** Retries that each first call allows. */
const retriesPerCall = 0.1;
/** Largest number of saved retries. */
const mostSaved = 100;
/** Wait before the first probe, doubled after each up to the longest; milliseconds. */
const firstProbeMs = 1000;
const longestProbeMs = 5000;

/**
 * Keeps retries from multiplying the calls to a peer that is unavailable or stalls (ADR 0022). In that
 * state, retries and sweeps may make a tenth as many calls as first tries do, and a probe from time to
 * time. While the peer answers, retries are not limited.
 */
export class RetryBudget {
  readonly #time: Time;
  #saved = 0;
  #away = false;
  #probeAtMs = 0;
  #probeWaitMs = firstProbeMs;

  constructor(time: Time = systemTime) {
    this.#time = time;
  }

  /** True when the call may be made; then `end` must follow. */
  begin(retry: boolean): boolean {
    if (!retry) {
      this.#saved = Math.min(mostSaved, this.#saved + retriesPerCall);
      return true;
    }
    if (!this.#away) return true;
    if (this.#saved >= 1) {
      this.#saved -= 1;
      return true;
    }
    const now = this.#time.monotonicNow();
    if (now < this.#probeAtMs) return false;
    this.#probeAtMs = now + this.#probeWaitMs;
    this.#probeWaitMs = Math.min(2 * this.#probeWaitMs, longestProbeMs);
    return true;
  }

  /** `away`: the peer could not be reached or did not answer in time. A refusal counts as an answer. */
  end(away: boolean): void {
    if (away && !this.#away) {
      this.#probeWaitMs = firstProbeMs;
      this.#probeAtMs = this.#time.monotonicNow() + firstProbeMs;
    }
    this.#away = away;
  }
}
