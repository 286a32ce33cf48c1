import type { StoreCollection } from '@headset-cloud/store/types.ts';
import type { ActivityStore } from '../ports.ts';
import type { LifecycleDocument } from './documents.ts';

/** Activation changes in the database: one document per change, written once. */
export function createActivityStore(collection: StoreCollection<LifecycleDocument>): ActivityStore {
  return {
    async record(changes) {
      if (changes.length === 0) return;
      await collection.bulkWrite(
        changes.map(({ deviceId, epoch, kind, ...more }) => ({
          updateOne: {
            filter: { _id: `${deviceId}/${epoch}/${kind}` },
            update: { $setOnInsert: { deviceId, epoch, kind, ...more } },
            upsert: true,
          },
        })),
        { ordered: false },
      );
    },

    changes(applicationId) {
      return collection.find(
        { applicationId },
        { sort: { deviceId: 1, epoch: 1, kind: 1 }, projection: { _id: 0 } },
      );
    },
  };
}
