import { systemTime, type Time, type Timer } from './clock.ts';
import { withoutDeadline } from './deadline.ts';
import type { Logger } from './logger.ts';

/** Work that repeats while a service runs. */
export interface Repetition {
  start(): void;
  /** Runs the work now instead of at the next interval; after the current run, if there is one. */
  wake(): void;
  /** Resolves when the current run, if any, has ended. */
  stop(): Promise<void>;
}

/**
 * Runs `work` every `intervalMs`, one run at a time. Runs it again at once while it returns more than 0, which means
 * that more work may be waiting. A failure is logged, and `work` runs again at the next interval. The timer does not
 * keep the process alive.
 */
export function repeat(
  name: string,
  intervalMs: number,
  logger: Logger,
  work: () => Promise<number>,
  time: Time = systemTime,
): Repetition {
  let timer: Timer | undefined;
  let running: Promise<void> | undefined;
  let stopped = true;
  let woken = false;

  const run = async (): Promise<void> => {
    try {
      do {
        woken = false;
        // `wake` may be called within a call, whose deadline must not apply to the run.
        while (!stopped && (await withoutDeadline(work)) > 0) {
          // More is waiting.
        }
      } while (woken && !stopped);
    } catch (error) {
      logger.warn({ err: error }, `${name} failed and will be tried again`);
    }
    running = undefined;
    // `wake` was called during a run that failed.
    schedule(woken ? 0 : intervalMs);
  };
  const schedule = (afterMs: number): void => {
    time.clearTimer(timer);
    if (stopped) return;
    timer = time.setTimeout(() => {
      running = run();
    }, afterMs);
    timer.unref();
  };

  return {
    start() {
      stopped = false;
      schedule(intervalMs);
    },
    wake() {
      woken = true;
      if (!running && !stopped) schedule(0);
    },
    async stop() {
      stopped = true;
      time.clearTimer(timer);
      await running;
    },
  };
}
