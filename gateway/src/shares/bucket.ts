import { type Clock, monotonicMs, systemClock } from '@headset-cloud/kit/clock.ts';

/** A rate with a burst. */
export interface Rate {
  readonly perSecond: number;
  readonly burst: number;
}

/** How many bursts others may have taken before they are forgiven. */
const mostOwedBursts = 4;

/** A token bucket, full at first, that others may overdraw: their calls were made already. */
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

  /** A contract was changed. */
  change({ perSecond, burst }: Rate): void {
    if (this.#rate.perSecond === perSecond && this.#rate.burst === burst) return;
    // What has passed until now counts by the rate that was.
    this.#refill();
    this.#rate = { perSecond, burst };
    this.#tokens = Math.min(this.#tokens, burst);
  }

  /** Takes one call; false: there is none left. */
  take(): boolean {
    this.#refill();
    if (this.#tokens < 1) return false;
    this.#tokens -= 1;
    return true;
  }

  /** Calls that were made elsewhere. */
  owe(calls: number): void {
    this.#refill();
    this.#tokens = Math.max(this.#tokens - calls, -mostOwedBursts * this.#rate.burst);
  }

  /** When the next call can be taken; milliseconds from now. */
  get waitMs(): number {
    this.#refill();
    return Math.max(0, Math.ceil((1 - this.#tokens) / (this.#rate.perSecond / 1000)));
  }

  /** Share of the burst that is left, 0 to 1; below 0 when others have overdrawn it. */
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
