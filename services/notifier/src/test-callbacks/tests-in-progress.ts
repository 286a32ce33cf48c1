import type { Time } from '@headset-cloud/runtime/clock.ts';
import { DomainError } from '@headset-cloud/runtime/errors.ts';

/** Maximum test callbacks of one application that run at the same time on one instance. */
const mostOfApplication = 5;
/** Minimum time for which a test callback counts as running: limits the rate for a fast receiver. Milliseconds. */
const leastMs = 1000;

/** Counts the running test callbacks of each application. */
export class TestsInProgress {
  readonly #ofApplication = new Map<string, number>();
  readonly #time: Time;

  constructor(time: Time) {
    this.#time = time;
  }

  /** Counts a test callback until the returned function is called. Throws too_many_requests if there are too many. */
  enter(applicationId: string): () => void {
    const count = this.#ofApplication.get(applicationId) ?? 0;
    if (count >= mostOfApplication) {
      throw new DomainError(
        'too_many_requests',
        `Too many test callbacks of this application at the same time: at most ${mostOfApplication}.`,
        {
          limit: { policy: 'test-callbacks', quota: mostOfApplication, concurrent: true },
          retryAfterMs: leastMs,
        },
      );
    }
    this.#ofApplication.set(applicationId, count + 1);
    const began = this.#time.monotonicNow();
    return () => {
      const restMs = leastMs - (this.#time.monotonicNow() - began);
      if (restMs <= 0) this.#leave(applicationId);
      else this.#time.setTimeout(() => this.#leave(applicationId), restMs).unref();
    };
  }

  #leave(applicationId: string): void {
    const left = (this.#ofApplication.get(applicationId) ?? 0) - 1;
    if (left > 0) this.#ofApplication.set(applicationId, left);
    else this.#ofApplication.delete(applicationId);
  }
}
