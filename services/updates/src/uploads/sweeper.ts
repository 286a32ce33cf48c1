import type { Clock } from '@headset-cloud/kit/clock.ts';
import { isTransient } from '@headset-cloud/kit/errors.ts';
import type { Logger } from '@headset-cloud/kit/logger.ts';
import { rarely } from '@headset-cloud/kit/rarely.ts';
import { farthestAheadMs } from '../domain/upload.ts';
import type { UploadStore } from '../ports.ts';
import type { Checker } from './checker.ts';

const batch = 50;

export interface Sweeper {
  start(): void;
  /** Resolves when the current run, if any, has ended. */
  stop(): Promise<void>;
}

/**
 * Checks uploads when they are due: files that arrived in a storage that does not report uploads, checks
 * that a crash interrupted, uploads that are to be closed. Several instances may run, because each upload
 * is claimed.
 */
export function createSweeper(deps: {
  uploads: UploadStore;
  check: Checker;
  clock: Clock;
  logger: Logger;
  intervalMs: number;
  leaseMs: number;
  lifetimeMs: number;
}): Sweeper {
  const { uploads, check, clock, logger } = deps;
  let timer: NodeJS.Timeout | undefined;
  let running: Promise<void> = Promise.resolve();
  let stopped = true;

  /**
   * Rarely, because an instance whose clock is behind finds what right clocks have written too far ahead:
   * one more look at it does no harm, one at every sweep would.
   */
  const aheadMs = farthestAheadMs(deps.leaseMs);
  const recall = rarely(clock, aheadMs, async () => {
    const nowMs = clock.now();
    const unsettledMs = nowMs + aheadMs;
    await uploads.recall(nowMs, { unsettledMs, settledMs: unsettledMs + 2 * deps.lifetimeMs });
  });

  async function sweep(): Promise<void> {
    await recall();
    for (const id of await uploads.due(clock.now(), batch)) {
      if (stopped) return;
      try {
        await check(id);
      } catch (error) {
        logger.warn({ uploadId: id, err: error }, 'an upload could not be looked at and will be again');
        // The storage or the database is unavailable, so the other checks would fail too.
        if (isTransient(error)) return;
      }
    }
  }

  function schedule(): void {
    if (stopped) return;
    timer = setTimeout(() => {
      running = sweep()
        .catch((error) => logger.warn({ err: error }, 'the sweep of uploads failed; the next one follows'))
        .finally(schedule);
    }, deps.intervalMs);
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
