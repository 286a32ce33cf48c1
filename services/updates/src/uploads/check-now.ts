import { systemTime, type Time, type Timer } from '@headset-cloud/runtime/clock.ts';
import type { Logger } from '@headset-cloud/runtime/logger.ts';
import type { UploadStore } from '../ports/upload-store.ts';
import type { Checker } from './checker.ts';

/** Checks uploads now, because a call needs their outcome. */
export type CheckNow = (of: { artifactId: string } | { developerId: string }) => Promise<void>;

const mostAtOnce = 20;

/**
 * A storage such as S3 does not report uploads. So calls that need an upload check it, not only the sweeper. Waits for
 * a short time. A longer check continues, and the next call has its result.
 */
export function createCheckNow(deps: {
  uploads: UploadStore;
  check: Checker;
  logger: Logger;
  longestWaitMs: number;
  time?: Time;
}): CheckNow {
  const { time = systemTime } = deps;
  return async (of) => {
    const ids = await deps.uploads.unsettled(of, mostAtOnce);
    if (ids.length === 0) return;
    const checks = Promise.all(
      ids.map((id) =>
        deps.check(id).catch((error) => deps.logger.debug({ err: error }, 'an upload could not be checked')),
      ),
    );
    let timer: Timer | undefined;
    const waitOver = new Promise<void>((resolve) => {
      timer = time.setTimeout(resolve, deps.longestWaitMs);
    });
    await Promise.race([checks, waitOver]);
    time.clearTimer(timer);
  };
}
