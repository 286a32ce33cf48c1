import { systemTime, type Time, type Timer } from '@headset-cloud/runtime/clock.ts';
import type { Logger } from '@headset-cloud/runtime/logger.ts';
import type { UploadStore } from '../ports/upload-store.ts';
import type { Checker } from './checker.ts';

/** Checks uploads now, because a call needs their outcome. */
export type CheckNow = (of: { artifactId: string } | { developerId: string }) => Promise<void>;

const maxAtOnce = 20;

/**
 * S3 does not report uploads. So a call that needs an upload checks it at once and does not wait for the sweeper. The
 * call waits at most `maxWaitMs`. A longer check continues in the background, and a later call reads its result.
 */
export function createCheckNow(deps: {
  uploads: UploadStore;
  check: Checker;
  logger: Logger;
  maxWaitMs: number;
  time?: Time;
}): CheckNow {
  const { time = systemTime } = deps;
  return async (of) => {
    const ids = await deps.uploads.unsettled(of, maxAtOnce);
    if (ids.length === 0) return;
    const checks = Promise.all(
      ids.map((id) =>
        deps.check(id).catch((error) => deps.logger.debug({ err: error }, 'an upload could not be checked')),
      ),
    );
    let timer: Timer | undefined;
    const waitOver = new Promise<void>((resolve) => {
      timer = time.setTimeout(resolve, deps.maxWaitMs);
    });
    await Promise.race([checks, waitOver]);
    time.clearTimer(timer);
  };
}
