import { rarely } from '@headset-cloud/runtime/rarely.ts';
import { completePending } from './complete.ts';
import type { ActivationDependencies } from './dependencies.ts';

const batchSize = 100;

/**
 * Completes overdue work of devices, in order: after a crash, or after another service was unavailable. May run
 * concurrently with other instances and with calls. Returns the number of handled devices.
 */
export async function sweepOverdue(deps: ActivationDependencies, retryAfterMs: number): Promise<number> {
  const nowMs = deps.clock.now();
  const due = await deps.devices.claimDue(nowMs, nowMs + retryAfterMs, batchSize);
  // Publishes concurrently with the other work, so that an unavailable log does not delay it.
  const published = Promise.allSettled(due.map((deviceId) => deps.lifecycle.publish(deviceId)));
  for (const deviceId of due) {
    try {
      await sweepDevice(deps, deviceId);
    } catch (error) {
      deps.logger.warn({ deviceId, err: error }, 'pending work of a device failed, retrying later');
    }
  }
  const failed = (await published).find((outcome) => outcome.status === 'rejected');
  if (failed) deps.logger.warn({ err: failed.reason }, 'lifecycle events not published, retrying later');
  return due.length;
}

/**
 * Makes work due now if its due time is too far in the future, because an instance with a fast clock wrote the due
 * time. Runs rarely: an instance with a slow clock makes all work due, which is correct but expensive.
 */
export function recallOverdue(deps: ActivationDependencies, retryAfterMs: number): () => Promise<void> {
  const { devices, clock } = deps;
  const aheadMs = 4 * retryAfterMs;
  return rarely(clock, aheadMs, () => devices.recall(clock.now() + aheadMs, clock.now()));
}

async function sweepDevice(deps: ActivationDependencies, deviceId: string): Promise<void> {
  await completePending(deps, deviceId);
  await deps.devices.clearDueTime(deviceId);
}
