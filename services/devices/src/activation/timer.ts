import type { Logger } from '@headset-cloud/kit/logger.ts';

/** Work that repeats while the service runs. */
export interface Repetition {
  start(): void;
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
  let running: Promise<void> = Promise.resolve();
  let stopped = true;

  async function run(): Promise<void> {
    try {
      while (!stopped && (await work()) > 0) {
        // More is waiting.
      }
    } catch (error) {
      logger.warn({ err: error }, `${name} failed and will be tried again`);
    }
    schedule();
  }
  function schedule(): void {
    if (stopped) return;
    timer = setTimeout(() => {
      running = run();
    }, intervalMs);
    timer.unref();
  }

  return {
    start() {
      stopped = false;
      schedule();
    },
    async stop() {
      stopped = true;
      clearTimeout(timer);
      await running;
    },
  };
}
