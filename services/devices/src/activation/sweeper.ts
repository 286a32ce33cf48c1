import { completePending } from './complete.ts';
import type { ActivationDependencies } from './dependencies.ts';

const batchSize = 100;

/**
 * Completes, in order, work that calls left (after a crash, or while a peer was unavailable), and abandons
 * expired intents. Safe concurrently with other instances and with the calls themselves. Returns how many
 * devices it handled. What an instance with its clock ahead left is pulled back from the future first.
 */
export async function sweepOverdue(deps: ActivationDependencies, retryAfterMs: number): Promise<number> {
  const nowMs = deps.clock.now();
  await deps.devices.recall(nowMs + 2 * Math.max(retryAfterMs, deps.intentMs), nowMs);
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

async function sweepDevice(deps: ActivationDependencies, deviceId: string): Promise<void> {
  const device = await deps.devices.find(deviceId);
  if (device?.intent && device.intent.untilMs <= deps.clock.now()) {
    await deps.devices.abandon(deviceId, device.intent, true);
  }
  await completePending(deps, deviceId);
  await deps.devices.rest(deviceId);
}
