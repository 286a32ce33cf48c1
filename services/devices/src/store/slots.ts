import { areDuplicates } from '@headset-cloud/runtime/errors.ts';
import type { Filter } from '@headset-cloud/store/operations.ts';
import type { StoreCollection } from '@headset-cloud/store/types.ts';
import type { SlotStore } from '../ports/slot-store.ts';
import type { DeviceDocument } from './documents.ts';

/** Maximum devices that get a number in one write, and maximum numbers that are read to find free numbers. */
const pageSize = 100;

/** Slots of contracts (ADR 0011): a number in each device's activation. A unique index prevents equal numbers. */
export function createSlotStore(devices: StoreCollection<DeviceDocument>): SlotStore {
  /**
   * Applications without a free slot, with `changes` of the contract at that time. Valid until the contract changes.
   */
  const full = new Map<string, number>();

  const having = (applicationId: string, slot: Filter<DeviceDocument>['activation.slot']) => ({
    'activation.applicationId': applicationId,
    'activation.slot': slot,
  });
  const withNumber = (applicationId: string, from: number, to?: number, limit = pageSize) =>
    devices
      .find(having(applicationId, { $gte: from, ...(to !== undefined && { $lt: to }) }), {
        ...{ sort: { 'activation.slot': -1 }, limit, projection: { 'activation.slot': 1 } },
      })
      .toArray();

  /** Finds some free numbers below the limit by a binary search that counts used numbers. Empty if all are in use. */
  async function gaps(applicationId: string, limit: number): Promise<number[]> {
    const freeIn = async (from: number, to: number) =>
      to - from - (await devices.countDocuments(having(applicationId, { $gte: from, $lt: to })));
    let [from, to, free] = [0, limit, await freeIn(0, limit)];
    if (free === 0) return [];
    while (to - from > pageSize) {
      const middle = Math.floor((from + to) / 2);
      const below = await freeIn(from, middle);
      if (Math.random() * free < below) [to, free] = [middle, below];
      else [from, free] = [middle, free - below];
    }
    const inUse = new Set((await withNumber(applicationId, from, to)).map((one) => one.activation?.slot));
    return Array.from({ length: to - from }, (_, i) => from + i).filter((number) => !inUse.has(number));
  }

  /**
   * Stores a number for each device that has none, or one not below the limit. Skips numbers that another device has
   * taken.
   */
  async function giveNumbers(
    applicationId: string,
    limit: number,
    ids: readonly string[],
    numbers: readonly number[],
  ): Promise<void> {
    const outOfRange = { $or: [{ 'activation.slot': null }, { 'activation.slot': { $gte: limit } }] };
    const updates = numbers.slice(0, ids.length).map((number, i) => ({
      updateOne: {
        filter: { _id: ids[i] as string, 'activation.applicationId': applicationId, ...outOfRange },
        update: { $set: { 'activation.slot': number } },
      },
    }));
    try {
      await devices.bulkWrite(updates, { ordered: false });
    } catch (error) {
      if (!areDuplicates(error)) throw error;
    }
  }

  return {
    inUse: (applicationId) => devices.countDocuments({ 'activation.applicationId': applicationId }),

    async free(applicationId, { activationLimit: limit, changes }, tries) {
      if (full.get(applicationId) === changes) return undefined;
      full.delete(applicationId);
      for (;;) {
        const [withoutNumber, above, [last]] = await Promise.all([
          devices.find(having(applicationId, null), { limit: pageSize, projection: { _id: 1 } }).toArray(),
          withNumber(applicationId, limit),
          withNumber(applicationId, 0, limit, 1),
        ]);
        const next = (last?.activation?.slot ?? -1) + 1;
        const numbers =
          next < limit
            ? Array.from({ length: Math.min(pageSize, limit - next) }, (_, i) => next + i)
            : await gaps(applicationId, limit);
        const ids = [...withoutNumber, ...above].map(({ _id }) => _id);
        if (ids.length > 0 && numbers.length > 0) {
          await giveNumbers(applicationId, limit, ids, numbers);
          continue;
        }
        if (numbers.length === 0) full.set(applicationId, changes);
        // Concurrent calls would choose the same first number. With each try the choice is from twice as many numbers.
        return numbers[Math.floor(Math.random() * Math.min(2 ** tries, numbers.length))];
      }
    },
  };
}
