import { type Clock, systemTime, type Time, type Timer } from '@headset-cloud/runtime/clock.ts';
import { isTransient } from '@headset-cloud/runtime/errors.ts';
import type { Logger } from '@headset-cloud/runtime/logger.ts';
import { rarely } from '@headset-cloud/runtime/rarely.ts';
import { maxAheadMs } from '../domain/upload.ts';
import type { UploadStore } from '../ports/upload-store.ts';
import type { Checker } from './checker.ts';

const batchSize = 50;

export interface Sweeper {
  start(): void;
  /** Resolves when the current run, if any, and the checks that it began have ended. */
  stop(): Promise<void>;
}

/**
 * Checks uploads when they are due: files in a storage that does not report uploads, checks that a crash interrupted,
 * uploads that must be closed. Several instances may run, because each upload is claimed.
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
   * Makes uploads due now whose due time is too far in the future. Runs rarely: for an instance whose clock is behind,
   * correct times are too far in the future. It would otherwise check such uploads at every sweep.
   */
  const aheadMs = maxAheadMs(deps.leaseMs);
  const resetFutureDueTimes = rarely(clock, aheadMs, async () => {
    const nowMs = clock.now();
    const unsettledMs = nowMs + aheadMs;
    await uploads.resetFutureDueTimes(nowMs, { unsettledMs, settledMs: unsettledMs + 2 * deps.lifetimeMs });
  });

  /** Running checks that the sweep does not wait for. ContentChecks limits how many of them read files. */
  const runningChecks = new Set<Promise<unknown>>();

  /**
   * Starts a check. Resolves when the check has ended or begins to read a file, which may take long. Resolves with true
   * if the storage or the database is unavailable.
   */
  async function startCheck(id: string): Promise<boolean> {
    const readsFile = Promise.withResolvers<boolean>();
    const checked = check(id, () => readsFile.resolve(false)).then(
      () => false,
      (error) => {
        logger.warn({ uploadId: id, err: error }, 'an upload could not be checked, retrying');
        return isTransient(error);
      },
    );
    runningChecks.add(checked);
    checked.finally(() => runningChecks.delete(checked));
    return Promise.race([checked, readsFile.promise]);
  }

  async function sweep(): Promise<void> {
    await resetFutureDueTimes();
    for (const id of await uploads.due(clock.now(), batchSize)) {
      // While the storage or the database is unavailable, the other checks would fail, too.
      if (stopped || (await startCheck(id))) return;
    }
  }

  function schedule(): void {
    if (stopped) return;
    timer = time.setTimeout(() => {
      running = sweep()
        .catch((error) => logger.warn({ err: error }, 'the sweep of uploads failed, retrying'))
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
      await Promise.all(runningChecks);
    },
  };
}
