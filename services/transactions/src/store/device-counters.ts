import { isDuplicateKey } from '@headset-cloud/runtime/errors.ts';
import { coalescedReader, coalescedWriter } from '@headset-cloud/store/coalesced.ts';
import type { Filter, Update } from '@headset-cloud/store/operations.ts';
import type { Store } from '@headset-cloud/store/types.ts';
import { idBefore, recentIdsKept } from '../domain/recent-ids.ts';
import type { AdvanceOutcome, DeviceCountersStore } from '../ports/device-counters.ts';
import { collections, type DeviceCountersDocument } from './documents.ts';

interface CountersAdapter extends DeviceCountersStore {
  /** Returns the highest id of the device; 0: none. */
  lastIdOf(deviceId: string): Promise<number>;
  /**
   * Returns the activation epoch of the newest deactivation up to `epoch`; 0: none. Transactions below it belong to an
   * earlier activation.
   */
  lastDeactivationUpTo(deviceId: string, epoch: number): Promise<number>;
}

/** Number of stored deactivations per device. For an older epoch `lastDeactivationUpTo` returns the epoch itself. */
const deactivationsKept = 32;

/** Store of the device counters (rule B4, ADR 0004). */
export function createDeviceCountersStore(store: Store): CountersAdapter {
  const counters = store.collection<DeviceCountersDocument>(collections.deviceCounters);
  const read = coalescedReader(counters);
  // 'in-order' is sufficient: the counters matter only if the following insert of the transaction is stored too.
  const inOrder = store.collection<DeviceCountersDocument>(collections.deviceCounters, {
    settle: 'in-order',
  });
  const advance = coalescedWriter<{
    filter: Filter<DeviceCountersDocument>;
    update: Update<DeviceCountersDocument>;
  }>(inOrder, {
    one: ({ filter, update }) => inOrder.updateOne(filter, update, { upsert: true }),
    many: (changes) =>
      inOrder.bulkWrite(
        changes.map((r) => ({ updateOne: { ...r, upsert: true } })),
        { ordered: false },
      ),
  });
  async function advanceCounters(
    ...[deviceId, to, now]: Parameters<DeviceCountersStore['advanceCounters']>
  ): Promise<AdvanceOutcome> {
    const filter: Filter<DeviceCountersDocument> = {
      _id: deviceId,
      epoch: { $lte: to.epoch },
      // A repeated create keeps its position in the order.
      ...(to.mustRise ? { lastId: { $lt: to.id } } : { lately: { $ne: to.id } }),
    };
    try {
      await advance({
        filter,
        update: {
          $max: { lastId: to.id, epoch: to.epoch },
          $push: {
            lately: { $each: [to.id], $slice: -recentIdsKept },
            ...(to.minimumEpoch?.reason === 'deactivation' && {
              deactivations: { $each: [to.minimumEpoch.epoch], $slice: -deactivationsKept },
            }),
          },
          // Replaces every earlier minimum activation epoch.
          ...(to.minimumEpoch && { $set: { floor: to.minimumEpoch, floorDueAt: new Date(now) } }),
        },
      });
      return 'advanced';
    } catch (error) {
      // The document exists, but the condition did not hold, so the upsert failed on its _id.
      if (!isDuplicateKey(error)) throw error;
      const found = await counters.findOne({ _id: deviceId });
      if (found && found.epoch > to.epoch) return 'epoch-too-old';
      const repeated = !to.mustRise && found?.lately?.includes(to.id);
      // Otherwise a concurrent create inserted the document, and the caller retries.
      return repeated ? 'advanced' : 'id-too-low';
    }
  }
  return {
    advanceCounters,
    async lastIdOf(deviceId) {
      return (await read(deviceId))?.lastId ?? 0;
    },
    async lastDeactivationUpTo(deviceId, epoch) {
      const { deactivations = [], floor } = (await read(deviceId)) ?? {};
      // A document of an earlier release has no `deactivations`, only `floor`.
      const ends = floor?.reason === 'deactivation' ? [...deactivations, floor.epoch] : deactivations;
      const last = Math.max(0, ...ends.filter((end) => end <= epoch));
      return last === 0 && deactivations.length === deactivationsKept ? epoch : last;
    },
    async countersOf(deviceId) {
      const { floor: minimumEpoch, lastId = 0, lately: recentIds = [] } = (await read(deviceId)) ?? {};
      return { minimumEpoch, lastId, before: (id) => idBefore(recentIds, id) };
    },
    async minimumEpochOf(deviceId) {
      return (await read(deviceId))?.floor;
    },
    async advanceMinimumEpoch(deviceId, minimumEpoch, now) {
      await counters.updateOne(
        { _id: deviceId, epoch: { $lt: minimumEpoch.epoch } },
        {
          $set: { epoch: minimumEpoch.epoch, floor: minimumEpoch, floorDueAt: new Date(now) },
          ...(minimumEpoch.reason === 'deactivation' && {
            $push: { deactivations: { $each: [minimumEpoch.epoch], $slice: -deactivationsKept } },
          }),
        },
      );
    },
    async firmwareQueue(deviceId) {
      const { firmware = [], firmwareChanges = 0, floor } = (await read(deviceId)) ?? {};
      return { queued: firmware, changes: firmwareChanges, minActivationEpoch: floor?.epoch ?? 0 };
    },
    async replaceFirmwareQueue(deviceId, changes, queued) {
      const { matchedCount } = await counters.updateOne(
        { _id: deviceId, firmwareChanges: changes === 0 ? { $exists: false } : changes },
        { $set: { firmware: [...queued], firmwareChanges: changes + 1 } },
      );
      return matchedCount === 1;
    },
    async claimDueCancellations(now, until, limit) {
      const due = await counters
        .find({ floorDueAt: { $lte: new Date(now) } }, { sort: { floorDueAt: 1 }, limit })
        .toArray();
      for (const d of due) {
        await counters.updateOne(
          { _id: d._id, floorDueAt: d.floorDueAt as Date },
          { $set: { floorDueAt: new Date(until) } },
        );
      }
      return due.map((d) => d._id);
    },
    async correctCancellationDueTimes(latest, now) {
      await counters.updateMany(
        { floorDueAt: { $gt: new Date(latest) } },
        { $set: { floorDueAt: new Date(now) } },
      );
    },
    async clearCancellationsDue(deviceId, minActivationEpoch) {
      await counters.updateOne(
        { _id: deviceId, 'floor.epoch': minActivationEpoch },
        { $unset: { floorDueAt: true } },
      );
    },
  };
}
