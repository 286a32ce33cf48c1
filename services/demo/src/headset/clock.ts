import { type Clock, monotonicMs } from '@headset-cloud/runtime/clock.ts';

/** The headset's clock, corrected by the time in the cloud's answers (protocol page, "A wrong clock"). */
export class CorrectedClock {
  readonly #clock: Clock;
  readonly #skewMs: () => number;
  #correctionMs = 0;
  #openedAtMs = 0;

  /** `skewMs`: simulated error of the headset's own clock; milliseconds. */
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

  /** Call it before a connection is opened. */
  opening(): void {
    this.#openedAtMs = monotonicMs(this.#clock);
  }

  /**
   * Corrects the clock by the time in the cloud's answer. The cloud read its clock at an unknown moment since the
   * connection was opened, so that a range of corrections is possible. A current correction in this range stays.
   */
  correct(serverTimeMs: number): void {
    const minCorrectionMs = serverTimeMs - this.uncorrected();
    const maxCorrectionMs = minCorrectionMs + monotonicMs(this.#clock) - this.#openedAtMs;
    this.#correctionMs = Math.round(Math.min(maxCorrectionMs, Math.max(minCorrectionMs, this.#correctionMs)));
  }
}
