import { systemTime, type Time } from '@headset-cloud/runtime/clock.ts';

/** Duration of a pause as a multiple of the work before it, so that calls have priority (ADR 0045). */
const pausePerWork = 4;

/** Repeats `work` with pauses, until it returns false or `signal` is aborted. */
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
