import { type Clock, monotonicMs, systemClock } from '@headset-cloud/runtime/clock.ts';

/** A rate with a burst. */
export interface Rate {
  readonly perSecond: number;
  readonly burst: number;
}

/** Maximum overdraft, as a multiple of the burst; usage of other gateways beyond it is ignored. */
const maxOverdraftBursts = 4;

/** A token bucket, full at first. Usage of other gateways may overdraw it, because their calls were already made. */
export class Bucket {
  readonly #clock: Clock;
  #rate: Rate;
  #tokens: number;
  #refilledAtMs: number;

  constructor(rate: Rate, clock: Clock = systemClock) {
    this.#clock = clock;
    this.#rate = rate;
    this.#tokens = rate.burst;
    this.#refilledAtMs = monotonicMs(clock);
  }

  get rate(): Rate {
    return this.#rate;
  }

  /** Applies a changed contract. */
  change({ perSecond, burst }: Rate): void {
    if (this.#rate.perSecond === perSecond && this.#rate.burst === burst) return;
    // The old rate applies to the time until now.
    this.#refill();
    this.#rate = { perSecond, burst };
    this.#tokens = Math.min(this.#tokens, burst);
  }

  /** Takes a token for one call. Returns false if there is none. */
  take(): boolean {
    this.#refill();
    if (this.#tokens < 1) return false;
    this.#tokens -= 1;
    return true;
  }

  /** Subtracts calls that were already made, down to the maximum overdraft. */
  overdraw(calls: number): void {
    this.#refill();
    this.#tokens = Math.max(this.#tokens - calls, -maxOverdraftBursts * this.#rate.burst);
  }

  /** Time until the next call can be taken; milliseconds. */
  get waitMs(): number {
    this.#refill();
    return Math.max(0, Math.ceil((1 - this.#tokens) / (this.#rate.perSecond / 1000)));
  }

  /** Remaining share of the burst, 0 to 1; below 0 when other gateways have overdrawn it. */
  get left(): number {
    this.#refill();
    return this.#tokens / this.#rate.burst;
  }

  #refill(): void {
    const nowMs = monotonicMs(this.#clock);
    const passedMs = Math.max(nowMs - this.#refilledAtMs, 0);
    this.#refilledAtMs = nowMs;
    this.#tokens = Math.min(this.#tokens + passedMs * (this.#rate.perSecond / 1000), this.#rate.burst);
  }
}
