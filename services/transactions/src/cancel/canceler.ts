import { randomUUID } from 'node:crypto';
import type { Clock } from '@headset-cloud/runtime/clock.ts';
import { cancelMessages } from '../domain/state.ts';
import type { Outbox } from '../outbox.ts';
import type { Floor, Heads } from '../ports/heads.ts';
import type { Queries } from '../ports/queries.ts';
import type { CanceledTransaction, Seen, Transitions } from '../ports/transitions.ts';

/** Cancels by the platform's own rules, and publishes the callbacks. */
export interface Canceler {
  /**
   * Cancels those of `ids` that are unprocessed; with `seen` only those that have not changed since.
   * Returns the canceled ones.
   */
  cancel(ids: readonly number[], message: string, seen?: Seen): Promise<CanceledTransaction[]>;
  /**
   * Cancels transactions below the floor of a deactivation or reset (rule B4); `only` restricts it to some
   * ids.
   */
  cancelBelowFloor(deviceId: string, floor: Floor, only?: readonly number[]): Promise<CanceledTransaction[]>;
}

export function floorMessage(floor: Floor): string {
  return cancelMessages[floor.reason];
}

export function createCanceler(deps: {
  store: Heads & Transitions & Queries;
  outbox: Outbox;
  clock: Clock;
  /** Tells the headset's session to drop or revoke them; best effort. */
  withdraw: (canceled: readonly CanceledTransaction[], reason: string) => void;
}): Canceler {
  const { store, outbox, clock } = deps;
  const cancel: Canceler['cancel'] = async (ids, message, seen) => {
    if (ids.length === 0) return [];
    const canceled = await store.cancelByPlatform(ids, message, randomUUID(), clock.now(), seen);
    for (const t of canceled) outbox.publish(t);
    return canceled;
  };
  return {
    cancel,
    async cancelBelowFloor(deviceId, floor, only) {
      const below = only
        ? [...only]
        : (await store.openOfDevice(deviceId))
            .filter((t) => t.activationEpoch < floor.epoch)
            .map((t) => t.id);
      const canceled = await cancel(below, floorMessage(floor));
      // The current session may have started them, and nothing else withdraws them (rule A11).
      if (canceled.length > 0) deps.withdraw(canceled, floorMessage(floor));
      if (!only) await store.clearFloorDue(deviceId, floor.epoch);
      return canceled;
    },
  };
}
