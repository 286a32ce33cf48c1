import type { Clock } from '@headset-cloud/runtime/clock.ts';
import type { Filter } from '@headset-cloud/store/operations.ts';
import type { Store } from '@headset-cloud/store/types.ts';
import { type DeadLetterDocument, deadLettersCollection } from '../dead-letters/documents.ts';
import { unclaimed } from '../dead-letters/store.ts';

/** The dead letters of one device, by the key of their events. */
export interface DeadLettersOfDevice {
  count(deviceId: string): Promise<number>;
  /** Removes dead letters without a replay and without a pending audit record; returns the numbers removed and left. */
  remove(deviceId: string): Promise<{ readonly removed: number; readonly left: number }>;
}

/** `subscription`: a consumer group and its topic, whose events have the device as key. */
export function deadLettersOfDevice(
  store: Store,
  clock: Clock,
  subscription: { readonly group: string; readonly topic: string },
): DeadLettersOfDevice {
  const deadLetters = store.collection<DeadLetterDocument>(deadLettersCollection);
  // Uses the index by group, topic and blocking.
  const filtersOf = (key: string): Filter<DeadLetterDocument>[] =>
    [true, false].map((blocking) => ({ ...subscription, blocking, key }));
  const sum = (numbers: readonly number[]) => numbers.reduce((one, other) => one + other, 0);
  const count = async (key: string) =>
    sum(await Promise.all(filtersOf(key).map((filter) => deadLetters.countDocuments(filter))));
  return {
    count,
    async remove(key) {
      let removed = 0;
      for (const filter of filtersOf(key)) {
        const free = { ...filter, auditAtMs: { $exists: false }, ...unclaimed(clock.now()) };
        removed += (await deadLetters.deleteMany(free)).deletedCount;
      }
      return { removed, left: await count(key) };
    },
  };
}
