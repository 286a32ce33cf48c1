import { systemTime, type Time } from '@headset-cloud/runtime/clock.ts';

/** Clocks that a test advances, with the machine's timers. */
export interface ManualClocks extends Time {
  /** Advances both clocks by `ms`, a whole number. */
  pass(ms: number): void;
}

/**
 * For a whole notifier: repeated work keeps running, but no lease, pause or waiting time ends before the test advances
 * the clocks. Starts at the current time.
 */
export function createManualClocks(): ManualClocks {
  const startMs = Date.now();
  let passedMs = 0;
  return {
    ...systemTime,
    now: () => startMs + passedMs,
    monotonicNow: () => passedMs,
    pass(ms) {
      passedMs += ms;
    },
  };
}
