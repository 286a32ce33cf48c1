import { isDuplicateKey } from '@headset-cloud/kit/errors.ts';
import type { StoreCollection } from '@headset-cloud/kit/store/types.ts';
import DataLoader from 'dataloader';
import type { Filter } from 'mongodb';
import type { TransactionStore } from '../ports.ts';
import type { HeadDocument } from './documents.ts';

type HeadStore = Pick<TransactionStore, 'raiseHead' | 'floorOf' | 'claimDueFloors' | 'clearFloorDue'> & {
  /** Highest id created for the device; 0 if none. */
  lastIdOf(deviceId: string): Promise<number>;
};

/** The devices' head documents (ruling B4, ADR 0004). */
export function createHeadStore(heads: StoreCollection<HeadDocument>): HeadStore {
  // Reads of one turn become one query. Nothing is kept beyond the turn: other processes raise floors.
  const loader = new DataLoader<string, HeadDocument | undefined>(
    async (deviceIds) => {
      const found = new Map<string, HeadDocument>();
      const list = await heads.find({ _id: { $in: [...deviceIds] } }).toArray();
      for (const head of list) found.set(head._id, head);
      return deviceIds.map((id) => found.get(id));
    },
    { cache: false, maxBatchSize: 500 },
  );
  return {
    async lastIdOf(deviceId) {
      return (await loader.load(deviceId))?.lastId ?? 0;
    },
    async floorOf(deviceId) {
      return (await loader.load(deviceId))?.floor;
    },
    async raiseHead(deviceId, raise, now) {
      const condition: Filter<HeadDocument> = {
        _id: deviceId,
        epoch: { $lte: raise.epoch },
        ...(raise.mustRise && { lastId: { $lt: raise.id } }),
      };
      try {
        await heads.updateOne(
          condition,
          {
            $max: { lastId: raise.id, epoch: raise.epoch },
            ...(raise.floor && { $set: { floor: raise.floor, floorDueAt: new Date(now) } }),
          },
          { upsert: true },
        );
        return 'raised';
      } catch (error) {
        // The document exists, but the condition did not hold: the upsert met its own _id.
        if (!isDuplicateKey(error)) throw error;
        const head = await heads.findOne({ _id: deviceId });
        return head && head.epoch > raise.epoch ? 'epoch-too-old' : 'id-too-low';
      }
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
    async clearFloorDue(deviceId, floorEpoch) {
      await heads.updateOne({ _id: deviceId, 'floor.epoch': floorEpoch }, { $unset: { floorDueAt: true } });
    },
  };
}
