import { systemTime, type Time, type Timer } from '@headset-cloud/kit/clock.ts';
import type { Logger } from '@headset-cloud/kit/logger.ts';
import type { UploadStore } from '../ports.ts';
import type { Checker } from './checker.ts';

/** Checks uploads now, because a call needs their outcome. */
export type LookNow = (of: { artifactId: string } | { developerId: string }) => Promise<void>;

const mostAtOnce = 20;

/**
 * A storage such as S3 does not report uploads, so a call that needs them checks them, not only the
 * sweeper. Waits for a short time; a check that takes longer continues, and its result shows in the next
 * call.
 */
export function createLookNow(deps: {
  uploads: UploadStore;
  check: Checker;
  logger: Logger;
  patienceMs: number;
  time?: Time;
}): LookNow {
  const { time = systemTime } = deps;
  return async (of) => {
    const ids = await deps.uploads.unsettled(of, mostAtOnce);
    if (ids.length === 0) return;
    const checks = Promise.all(
      ids.map((id) =>
        deps
          .check(id)
          .catch((error) => deps.logger.debug({ err: error }, 'an upload could not be looked at')),
      ),
    );
    let timer: Timer | undefined;
    const patience = new Promise<void>((resolve) => {
      timer = time.setTimeout(resolve, deps.patienceMs);
    });
    await Promise.race([checks, patience]);
    time.clearTimer(timer);
  };
}
