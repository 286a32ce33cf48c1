import { type Clock, systemTime, type Time, type Timer } from '@headset-cloud/runtime/clock.ts';
import { isTransient } from '@headset-cloud/runtime/errors.ts';
import type { Logger } from '@headset-cloud/runtime/logger.ts';
import { rarely } from '@headset-cloud/runtime/rarely.ts';
import { farthestAheadMs } from '../domain/upload.ts';
import type { UploadStore } from '../ports/upload-store.ts';
import type { Checker } from './checker.ts';

const batch = 50;

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
   * Runs rarely. An instance with a slow clock finds correct times too far in the future. One additional check does no
   * harm; one at every sweep would.
   */
  const aheadMs = farthestAheadMs(deps.leaseMs);
  const recall = rarely(clock, aheadMs, async () => {
    const nowMs = clock.now();
    const unsettledMs = nowMs + aheadMs;
    await uploads.recall(nowMs, { unsettledMs, settledMs: unsettledMs + 2 * deps.lifetimeMs });
  });

  /** Checks that continue while the sweep handles the next upload. ContentChecks limits their number. */
  const continuing = new Set<Promise<unknown>>();

  /** Resolves when it is known whether a file must be read. True: the storage or database is unavailable. */
  async function startCheck(id: string): Promise<boolean> {
    const reading = Promise.withResolvers<boolean>();
    const checked = check(id, () => reading.resolve(false)).then(
      () => false,
      (error) => {
        logger.warn({ uploadId: id, err: error }, 'an upload could not be checked, retrying');
        return isTransient(error);
      },
    );
    continuing.add(checked);
    checked.finally(() => continuing.delete(checked));
    return Promise.race([checked, reading.promise]);
  }

  async function sweep(): Promise<void> {
    await recall();
    for (const id of await uploads.due(clock.now(), batch)) {
      // Without storage or database the other checks would fail, too.
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
      await Promise.all(continuing);
    },
  };
}
