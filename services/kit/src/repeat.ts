import { asRetry, withoutDeadline } from './deadline.ts';
import type { Logger } from './logger.ts';

/** Work that repeats while a service runs. */
export interface Repetition {
  start(): void;
  /** Runs soon instead of at the next interval; after the run in hand, if there is one. */
  wake(): void;
  /** Resolves when the run in hand, if any, has ended. */
  stop(): Promise<void>;
}

/**
 * Runs `work` each `intervalMs`, never twice at once, and again at once while it found something to
 * do (its answer is above 0). A failure is logged and tried again at the next interval. Never keeps a
 * process alive.
 */
export function repeat(
  name: string,
  intervalMs: number,
  logger: Logger,
  work: () => Promise<number>,
): Repetition {
  let timer: NodeJS.Timeout | undefined;
  let running: Promise<void> | undefined;
  let stopped = true;
  let woken = false;

  const run = async (): Promise<void> => {
    try {
      do {
        woken = false;
        // Woken by a call, it does not end with that call.
        while (!stopped && (await withoutDeadline(() => asRetry(work))) > 0) {
          // More is waiting.
        }
      } while (woken && !stopped);
    } catch (error) {
      logger.warn({ err: error }, `${name} failed and will be tried again`);
    }
    running = undefined;
    schedule(intervalMs);
  };
  const schedule = (afterMs: number): void => {
    clearTimeout(timer);
    if (stopped) return;
    timer = setTimeout(() => {
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
      clearTimeout(timer);
      await running;
    },
  };
}
