import { pendingAuditFields, withAuditRecord } from '@headset-cloud/rules/audit/record.ts';
import { isDuplicateKey } from '@headset-cloud/runtime/errors.ts';
import type { StoreCollection } from '@headset-cloud/store/types.ts';
import { changedPlans } from '../domain/plans.ts';
import type { PlansStore } from '../ports.ts';
import type { PlansDocument } from './documents.ts';

/** Plans in MongoDB: one document for an application and device, with the whole history. */
export function createPlansStore(collection: StoreCollection<PlansDocument>): PlansStore {
  return {
    async put(applicationId, deviceId, plans, nowMs, record) {
      const _id = `${applicationId}/${deviceId}`;
      for (;;) {
        const found = await collection.findOne({ _id });
        const history = changedPlans(found?.history ?? [], plans, nowMs);
        if (!history) return;
        if (!found) {
          try {
            const fields = { applicationId, deviceId, revision: 1, history, ...pendingAuditFields(record) };
            await collection.insertOne({ _id, ...fields });
            return;
          } catch (error) {
            if (!isDuplicateKey(error)) throw error;
            continue;
          }
        }
        const { matchedCount } = await collection.updateOne(
          { _id, revision: found.revision },
          withAuditRecord<PlansDocument>({ $set: { history }, $inc: { revision: 1 } }, record),
        );
        if (matchedCount === 1) return;
      }
    },

    histories(applicationId) {
      return collection.find(
        { applicationId },
        { sort: { deviceId: 1 }, projection: { _id: 0, deviceId: 1, history: 1 } },
      );
    },
  };
}
