import { withAuditRecord } from '@headset-cloud/rules/audit/record.ts';
import type { StoreCollection } from '@headset-cloud/store/types.ts';
import type { ContractStore } from '../ports/contract-store.ts';
import type { ContractDeviceDocument, ContractDocument } from './documents.ts';

const contractDeviceId = (applicationId: string, deviceId: string) => `${applicationId}/${deviceId}`;

/**
 * Part of each update of a contract or of its slots. `checkAtMs` and `recountAtMs` make instances of release 0.1.0
 * count the slots again.
 */
const changed = { $set: { checkAtMs: 0, recountAtMs: 0 }, $inc: { changes: 1 } } as const;

export function createContractStore(
  contracts: StoreCollection<ContractDocument>,
  contractDevices: StoreCollection<ContractDeviceDocument>,
): ContractStore {
  return {
    async ofDevice(applicationId, deviceId) {
      const projection = { activationLimit: 1, changes: 1 } as const;
      const [named, contract] = await Promise.all([
        contractDevices.findOne({ _id: contractDeviceId(applicationId, deviceId) }),
        contracts.findOne({ _id: applicationId }, { projection }),
      ]);
      if (!named || !contract) return undefined;
      const { activationLimit, changes } = contract;
      return { activationLimit, changes };
    },

    async slotsChanged(applicationId) {
      const found = await contracts.findOneAndUpdate({ _id: applicationId }, changed, {
        projection: { closed: 1 },
      });
      return found?.closed ? 'closed' : 'open';
    },

    async get(applicationId) {
      const projection = { activationLimit: 1, limits: 1 } as const;
      const found = await contracts.findOne({ _id: applicationId }, { projection });
      return found && { applicationId, activationLimit: found.activationLimit, limits: found.limits ?? {} };
    },

    async limits(applicationId) {
      const found = await contracts.findOne({ _id: applicationId }, { projection: { limits: 1 } });
      return found?.limits ?? {};
    },

    async devices(applicationId, afterDeviceId, limit) {
      const found = await contractDevices
        .find(
          { applicationId, deviceId: { $gt: afterDeviceId } },
          { sort: { deviceId: 1 }, limit, projection: { deviceId: 1 } },
        )
        .toArray();
      return found.map(({ deviceId }) => deviceId);
    },

    async put(applicationId, { activationLimit, add, remove, limits, defaultLimits }, record) {
      const found = await contracts.updateOne(
        { _id: applicationId },
        withAuditRecord<ContractDocument>(
          {
            $inc: changed.$inc,
            $set: { ...changed.$set, ...(activationLimit !== undefined && { activationLimit }) },
            $setOnInsert: { freeSlots: 0, takes: [], returns: [] },
            $unset: { closed: '' },
          },
          record,
        ),
        { upsert: activationLimit !== undefined },
      );
      if (found.matchedCount + found.upsertedCount === 0) return false;
      const set = Object.entries(limits).map(([name, value]) => [`limits.${name}`, value]);
      if (defaultLimits) await contracts.updateOne({ _id: applicationId }, { $set: { limits } });
      else if (set.length > 0)
        await contracts.updateOne({ _id: applicationId }, { $set: Object.fromEntries(set) });
      const operations = [
        ...add.map((deviceId) => ({
          updateOne: {
            filter: { _id: contractDeviceId(applicationId, deviceId) },
            update: { $setOnInsert: { applicationId, deviceId } },
            upsert: true,
          },
        })),
        ...remove.map((deviceId) => ({
          deleteOne: { filter: { _id: contractDeviceId(applicationId, deviceId) } },
        })),
      ];
      if (operations.length > 0) await contractDevices.bulkWrite(operations, { ordered: false });
      return true;
    },
  };
}
