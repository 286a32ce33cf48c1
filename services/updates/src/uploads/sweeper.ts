import { type Clock, systemTime, type Time, type Timer } from '@headset-cloud/kit/clock.ts';
import { isTransient } from '@headset-cloud/kit/errors.ts';
import type { Logger } from '@headset-cloud/kit/logger.ts';
import { rarely } from '@headset-cloud/kit/rarely.ts';
import { farthestAheadMs } from '../domain/upload.ts';
import type { UploadStore } from '../ports.ts';
import type { Checker } from './checker.ts';

const batch = 50;

export interface Sweeper {
  start(): void;
  /** Resolves when the current run, if any, and the checks that it began have ended. */
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
  time?: Time;
}): Sweeper {
  const { uploads, check, clock, logger, time = systemTime } = deps;
  let timer: Timer | undefined;
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

  /** Checks that continue while the sweep looks at the next upload; their number is bounded by ContentChecks. */
  const goingOn = new Set<Promise<unknown>>();

  /** Resolves when it is known whether a file has to be read; true: the storage or database is unavailable. */
  async function lookAt(id: string): Promise<boolean> {
    const reading = Promise.withResolvers<boolean>();
    const checked = check(id, () => reading.resolve(false)).then(
      () => false,
      (error) => {
        logger.warn({ uploadId: id, err: error }, 'an upload could not be looked at and will be again');
        return isTransient(error);
      },
    );
    goingOn.add(checked);
    checked.finally(() => goingOn.delete(checked));
    return Promise.race([checked, reading.promise]);
  }

  async function sweep(): Promise<void> {
    await recall();
    for (const id of await uploads.due(clock.now(), batch)) {
      // Without storage or database the other checks would fail too.
      if (stopped || (await lookAt(id))) return;
    }
  }

  function schedule(): void {
    if (stopped) return;
    timer = time.setTimeout(() => {
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
      time.clearTimer(timer);
      await running;
      await Promise.all(goingOn);
    },
  };
}
