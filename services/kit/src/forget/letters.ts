import type { Clock } from '../clock.ts';
import { type LetterDocument, lettersCollection } from '../dead-letters/documents.ts';
import { unclaimed } from '../dead-letters/store.ts';
import type { Filter } from '../store/operations.ts';
import type { Store } from '../store/types.ts';

/** The dead letters of one device, as the events' key names it. */
export interface LettersOfDevice {
  count(deviceId: string): Promise<number>;
  /** Those that no replay holds and that owe no record; how many were removed, and how many are left. */
  remove(deviceId: string): Promise<{ readonly removed: number; readonly left: number }>;
}

/** Of a group's topic that has the device as its key. */
export function lettersOfDevice(
  store: Store,
  clock: Clock,
  line: { readonly group: string; readonly topic: string },
): LettersOfDevice {
  const letters = store.collection<LetterDocument>(lettersCollection);
  // By the index of lines.
  const of = (key: string): Filter<LetterDocument>[] =>
    [true, false].map((blocking) => ({ ...line, blocking, key }));
  const sum = (numbers: readonly number[]) => numbers.reduce((one, other) => one + other, 0);
  const count = async (key: string) =>
    sum(await Promise.all(of(key).map((filter) => letters.countDocuments(filter))));
  return {
    count,
    async remove(key) {
      let removed = 0;
      for (const filter of of(key)) {
        const free = { ...filter, auditAtMs: { $exists: false }, ...unclaimed(clock.now()) };
        removed += (await letters.deleteMany(free)).deletedCount;
      }
      return { removed, left: await count(key) };
    },
  };
}
