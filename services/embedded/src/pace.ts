import { setTimeout as delay } from 'node:timers/promises';

/** A pause lasts so many times as long as the work before it: calls go first (ADR 0045). */
const pausePerWork = 4;

/** Repeats small pieces of work with pauses, until one returns false or `signal` is aborted. */
export async function paced(work: () => Promise<boolean>, signal: AbortSignal): Promise<void> {
  while (!signal.aborted) {
    const beganMs = performance.now();
    if (!(await work())) return;
    const pauseMs = pausePerWork * (performance.now() - beganMs);
    await delay(pauseMs, undefined, { signal, ref: false }).catch(() => {});
  }
}
