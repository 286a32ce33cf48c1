import { setTimeout as delay } from 'node:timers/promises';
import type { Take } from '../domain/slots.ts';
import { completePending } from './complete.ts';
import type { ActivationDependencies } from './dependencies.ts';
import { settleReturn, settleTake } from './slots.ts';

/** Most devices, takes and returns each that one look handles. */
const mostAtOnce = 16;
const firstPauseMs = 1;

/**
 * Whether a contract without a free slot has room after all, because one of its slots is owed: by a device
 * that is not activated any more, or by an entry whose call has died. Does that work itself instead of
 * leaving it to the sweepers, and looks again, ever more rarely. `full`: each slot belonged to an activated
 * device at some moment of the call. `moving`: at `giveUpAtMs` (of `performance.now()`) a slot was still on
 * its way, for example with an intent that may succeed or expire.
 *
 * Everything done here may be done by any number of callers at any time (ADR 0011), so another instance
 * may do the same. A clock decides only whether an intent has expired. If this one is ahead, it ends the
 * intent of a call that lives; that call refunds its take and begins again. If it is behind, or the clock
 * of an intent's writer was ahead, the answer is `moving` until the sweeper ends the intent.
 *
 * Throws what kept it from finishing owed work, if there is no room without that work.
 */
export async function findRoom(
  deps: ActivationDependencies,
  applicationId: string,
  giveUpAtMs: number,
): Promise<'room' | 'full' | 'moving'> {
  let failure: unknown;
  for (let pauseMs = firstPauseMs; ; pauseMs *= 2) {
    // In this order: a slot that leaves its device after the first read is an entry or free in the second.
    const owing = await deps.devices.owingSlots(applicationId, mostAtOnce);
    const counted = await deps.contracts.count(applicationId);
    if (!counted) return 'full';
    if (counted.freeSlots > 0) return 'room';
    if (failure !== undefined) throw failure;
    const { takes, returns } = counted;
    if (owing.length + takes.length + returns.length === 0) return 'full';
    const leftMs = giveUpAtMs - performance.now();
    if (pauseMs > firstPauseMs && leftMs <= 0) return 'moving';
    const outcomes = await Promise.allSettled([
      ...owing.map((deviceId) => completePending(deps, deviceId)),
      ...takes.slice(0, mostAtOnce).map((take) => endTake(deps, applicationId, take)),
      ...returns.slice(0, mostAtOnce).map((entry) => settleReturn(deps, applicationId, entry)),
    ]);
    failure = outcomes.find((one) => one.status === 'rejected')?.reason;
    await delay(Math.max(firstPauseMs, Math.min(pauseMs, leftMs)));
  }
}

/** Completes a take, unless its intent is alive. */
async function endTake(deps: ActivationDependencies, applicationId: string, take: Take): Promise<void> {
  if ((await settleTake(deps, applicationId, take)) !== 'open') return;
  const { intent } = (await deps.devices.find(take.deviceId)) ?? {};
  if (intent?.id !== take.intentId || intent.untilMs > deps.clock.now()) return;
  await deps.devices.abandon(take.deviceId, intent, true);
  await completePending(deps, take.deviceId);
}
