import { randomUUID } from 'node:crypto';
import type { Clock } from '@headset-cloud/runtime/clock.ts';
import { cancelMessages } from '../domain/state.ts';
import type { Outbox } from '../outbox.ts';
import type { DeviceCountersStore, MinimumEpoch } from '../ports/device-counters.ts';
import type { Queries } from '../ports/queries.ts';
import type { CanceledTransaction, ReadState, Transitions } from '../ports/transitions.ts';

/** Cancels transactions by the platform's rules, and publishes their callbacks. */
export interface Canceler {
  /** Cancels unprocessed transactions, with `readState` only those still in this state. Returns the canceled ones. */
  cancel(ids: readonly number[], message: string, readState?: ReadState): Promise<CanceledTransaction[]>;
  /**
   * Cancels the device's transactions below the minimum activation epoch (rule B4). With `ids`: cancels only these
   * transactions, which must be below it.
   */
  cancelBelowMinimumEpoch(
    deviceId: string,
    minimumEpoch: MinimumEpoch,
    ids?: readonly number[],
  ): Promise<CanceledTransaction[]>;
}

/** Message of a cancellation below the minimum activation epoch. */
export function minimumEpochMessage(minimumEpoch: MinimumEpoch): string {
  return cancelMessages[minimumEpoch.reason];
}

export function createCanceler(deps: {
  store: DeviceCountersStore & Transitions & Queries;
  outbox: Outbox;
  clock: Clock;
  /** Requests the headset's session to drop or revoke the transactions; best effort. */
  withdraw: (canceled: readonly CanceledTransaction[], reason: string) => void;
}): Canceler {
  const { store, outbox, clock } = deps;
  const cancel: Canceler['cancel'] = async (ids, message, readState) => {
    if (ids.length === 0) return [];
    const canceled = await store.cancelByPlatform(ids, message, randomUUID(), clock.now(), readState);
    for (const t of canceled) outbox.publish(t);
    return canceled;
  };
  return {
    cancel,
    async cancelBelowMinimumEpoch(deviceId, minimumEpoch, ids) {
      const below = ids
        ? [...ids]
        : (await store.openOfDevice(deviceId))
            .filter((t) => t.activationEpoch < minimumEpoch.epoch)
            .map((t) => t.id);
      const canceled = await cancel(below, minimumEpochMessage(minimumEpoch));
      // The current session may have started the transactions, and nothing else withdraws them (rule A11).
      if (canceled.length > 0) deps.withdraw(canceled, minimumEpochMessage(minimumEpoch));
      if (!ids) await store.clearCancellationsDue(deviceId, minimumEpoch.epoch);
      return canceled;
    },
  };
}
