import { systemTime, type Time } from '@headset-cloud/kit/clock.ts';

/** A pause lasts so many times as long as the work before it: calls go first (ADR 0045). */
const pausePerWork = 4;

/** Repeats small pieces of work with pauses, until one returns false or `signal` is aborted. */
export async function paced(
  work: () => Promise<boolean>,
  signal: AbortSignal,
  time: Time = systemTime,
): Promise<void> {
  while (!signal.aborted) {
    const beganMs = time.monotonicNow();
    if (!(await work())) return;
    const pauseMs = pausePerWork * (time.monotonicNow() - beganMs);
    await time.sleep(pauseMs, { signal, ref: false }).catch(() => {});
  }
}
