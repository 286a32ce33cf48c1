import { isDuplicateKey } from '@headset-cloud/runtime/errors.ts';
import { coalescedReader, coalescedWriter } from '@headset-cloud/store/coalesced.ts';
import type { Filter, Update } from '@headset-cloud/store/operations.ts';
import type { Store } from '@headset-cloud/store/types.ts';
import { idBefore, latelyKept } from '../domain/lately.ts';
import type { HeadRaise, Heads } from '../ports/heads.ts';
import { collections, type HeadDocument } from './documents.ts';

interface HeadStore extends Heads {
  /** Highest id created for the device; 0 if none. */
  lastIdOf(deviceId: string): Promise<number>;
  /**
   * The activation epoch of the newest deactivation up to `epoch`; 0 if none. Transactions below it belong
   * to an activation that was over by then.
   */
  lastEndUpTo(deviceId: string, epoch: number): Promise<number>;
}

/** How many deactivations a head remembers; for an older epoch `lastEndUpTo` returns that epoch itself. */
const rememberedEnds = 32;

/** The devices' head documents (rule B4, ADR 0004). */
export function createHeadStore(store: Store): HeadStore {
  const heads = store.collection<HeadDocument>(collections.heads);
  const read = coalescedReader(heads);
  // 'in-order' suffices: a raise becomes visible by the transaction that is inserted after it.
  const raised = store.collection<HeadDocument>(collections.heads, { settle: 'in-order' });
  const raise = coalescedWriter<{ filter: Filter<HeadDocument>; update: Update<HeadDocument> }>(raised, {
    one: ({ filter, update }) => raised.updateOne(filter, update, { upsert: true }),
    many: (raises) =>
      raised.bulkWrite(
        raises.map((r) => ({ updateOne: { ...r, upsert: true } })),
        { ordered: false },
      ),
  });
  async function raiseHead(...[deviceId, to, now]: Parameters<Heads['raiseHead']>): Promise<HeadRaise> {
    const filter: Filter<HeadDocument> = {
      _id: deviceId,
      epoch: { $lte: to.epoch },
      // A repeat of a create keeps its place in the order.
      ...(to.mustRise ? { lastId: { $lt: to.id } } : { lately: { $ne: to.id } }),
    };
    try {
      await raise({
        filter,
        update: {
          $max: { lastId: to.id, epoch: to.epoch },
          $push: {
            lately: { $each: [to.id], $slice: -latelyKept },
            ...(to.floor?.reason === 'deactivation' && {
              deactivations: { $each: [to.floor.epoch], $slice: -rememberedEnds },
            }),
          },
          // A floor cancels all earlier ones.
          ...(to.floor && { $set: { floor: to.floor, floorDueAt: new Date(now) } }),
        },
      });
      return 'raised';
    } catch (error) {
      // The document exists, but the condition did not hold: the upsert met its own _id.
      if (!isDuplicateKey(error)) throw error;
      const head = await heads.findOne({ _id: deviceId });
      if (head && head.epoch > to.epoch) return 'epoch-too-old';
      const repeated = !to.mustRise && head?.lately?.includes(to.id);
      // Otherwise another create made the head at the same time, and this one is still to be raised.
      return repeated ? 'raised' : 'id-too-low';
    }
  }
  return {
    raiseHead,
    async lastIdOf(deviceId) {
      return (await read(deviceId))?.lastId ?? 0;
    },
    async lastEndUpTo(deviceId, epoch) {
      const { deactivations = [], floor } = (await read(deviceId)) ?? {};
      // A head written by an earlier release has only its floor.
      const ends = floor?.reason === 'deactivation' ? [...deactivations, floor.epoch] : deactivations;
      const last = Math.max(0, ...ends.filter((end) => end <= epoch));
      return last === 0 && deactivations.length === rememberedEnds ? epoch : last;
    },
    async headOf(deviceId) {
      const { floor, lastId = 0, lately = [] } = (await read(deviceId)) ?? {};
      return { floor, lastId, before: (id) => idBefore(lately, id) };
    },
    async floorOf(deviceId) {
      return (await read(deviceId))?.floor;
    },
    async raiseFloor(deviceId, floor, now) {
      await heads.updateOne(
        { _id: deviceId, epoch: { $lt: floor.epoch } },
        {
          $set: { epoch: floor.epoch, floor, floorDueAt: new Date(now) },
          ...(floor.reason === 'deactivation' && {
            $push: { deactivations: { $each: [floor.epoch], $slice: -rememberedEnds } },
          }),
        },
      );
    },
    async firmwareQueue(deviceId) {
      const { firmware = [], firmwareChanges = 0, floor } = (await read(deviceId)) ?? {};
      return { queued: firmware, changes: firmwareChanges, floorEpoch: floor?.epoch ?? 0 };
    },
    async replaceFirmwareQueue(deviceId, changes, queued) {
      const { matchedCount } = await heads.updateOne(
        { _id: deviceId, firmwareChanges: changes === 0 ? { $exists: false } : changes },
        { $set: { firmware: [...queued], firmwareChanges: changes + 1 } },
      );
      return matchedCount === 1;
    },
    async claimDueFloors(now, until, limit) {
      const due = await heads
        .find({ floorDueAt: { $lte: new Date(now) } }, { sort: { floorDueAt: 1 }, limit })
        .toArray();
      for (const d of due) {
        await heads.updateOne(
          { _id: d._id, floorDueAt: d.floorDueAt as Date },
          { $set: { floorDueAt: new Date(until) } },
        );
      }
      return due.map((d) => d._id);
    },
    async recallFloors(latest, now) {
      await heads.updateMany(
        { floorDueAt: { $gt: new Date(latest) } },
        { $set: { floorDueAt: new Date(now) } },
      );
    },
    async clearFloorDue(deviceId, floorEpoch) {
      await heads.updateOne({ _id: deviceId, 'floor.epoch': floorEpoch }, { $unset: { floorDueAt: true } });
    },
  };
}
