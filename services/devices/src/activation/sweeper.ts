import { rarely } from '@headset-cloud/kit/rarely.ts';
import { completePending } from './complete.ts';
import type { ActivationDependencies } from './dependencies.ts';

const batchSize = 100;

/**
 * Completes, in order, work that calls left (after a crash, or while a peer was unavailable). Safe
 * concurrently with other instances and with the calls themselves. Returns how many devices it handled.
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
      deps.logger.warn({ deviceId, err: error }, 'pending work of a device failed and will be tried again');
    }
  }
  const failed = (await published).find((outcome) => outcome.status === 'rejected');
  if (failed) deps.logger.warn({ err: failed.reason }, 'lifecycle events will be published later');
  return due.length;
}

/**
 * Makes due what lies further ahead than a right clock writes: an instance whose clock was ahead left it.
 * Rarely, because an instance whose clock is behind takes all work for such: that does no harm, but it
 * costs.
 */
export function recallOverdue(deps: ActivationDependencies, retryAfterMs: number): () => Promise<void> {
  const { devices, clock } = deps;
  const aheadMs = 4 * retryAfterMs;
  return rarely(clock, aheadMs, () => devices.recall(clock.now() + aheadMs, clock.now()));
}

async function sweepDevice(deps: ActivationDependencies, deviceId: string): Promise<void> {
  await completePending(deps, deviceId);
  await deps.devices.rest(deviceId);
}
