import { type Clock, monotonicMs } from '@headset-cloud/runtime/clock.ts';

/** The headset's clock with the correction that the cloud's answers give (protocol page, "A wrong clock"). */
export class CorrectedClock {
  readonly #clock: Clock;
  readonly #skewMs: () => number;
  #correctionMs = 0;
  #openedAtMs = 0;

  /** `skewMs`: the simulated error of the headset's own clock. */
  constructor(clock: Clock, skewMs: () => number) {
    this.#clock = clock;
    this.#skewMs = skewMs;
  }

  /** The headset's own clock; milliseconds since 1970. */
  uncorrected(): number {
    return this.#clock.now() + this.#skewMs();
  }

  /** The corrected clock; milliseconds since 1970. */
  now(): number {
    return this.uncorrected() + this.#correctionMs;
  }

  /** A connection is being opened. */
  opening(): void {
    this.#openedAtMs = monotonicMs(this.#clock);
  }

  /**
   * Corrects the clock by the time in the cloud's answer. The cloud read its clock at some moment since the
   * connection was opened: a correction that agrees with one of these moments stays.
   */
  correct(serverTimeMs: number): void {
    const leastMs = serverTimeMs - this.uncorrected();
    const mostMs = leastMs + monotonicMs(this.#clock) - this.#openedAtMs;
    this.#correctionMs = Math.round(Math.min(mostMs, Math.max(leastMs, this.#correctionMs)));
  }
}
