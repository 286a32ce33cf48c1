import { type OwedRecord, owing, owingFields } from '@headset-cloud/kit/audit/record.ts';
import { isDuplicateKey } from '@headset-cloud/kit/errors.ts';
import type { Filter, Update } from '@headset-cloud/kit/store/operations.ts';
import type { StoreCollection } from '@headset-cloud/kit/store/types.ts';
import type { ContractStore } from '../ports.ts';
import type { ContractDeviceDocument, ContractDocument } from './documents.ts';

/** Most pending takes, and most pending returns, of a contract; limits its document to some 100 kB. */
export const mostUnderWay = 256;

const roomIn = (list: 'takes' | 'returns'): Filter<ContractDocument> => ({
  [`${list}.${mostUnderWay - 1}`]: { $exists: false },
});
const countFields = {
  activationLimit: 1,
  freeSlots: 1,
  takes: 1,
  returns: 1,
  changes: 1,
  recountAtMs: 1,
} as const;
const contractDeviceId = (applicationId: string, deviceId: string) => `${applicationId}/${deviceId}`;

/** `graceMs`: the age at which the reconciler handles a pending take or return. */
export function createContractStore(
  contracts: StoreCollection<ContractDocument>,
  contractDevices: StoreCollection<ContractDeviceDocument>,
  graceMs: number,
): ContractStore {
  /** One conditional update of one contract; each raises `changes`. */
  async function change(filter: Filter<ContractDocument>, update: Update<ContractDocument>) {
    const noted: Update<ContractDocument> = { ...update, $inc: { ...update.$inc, changes: 1 } };
    const { matchedCount } = await contracts.updateOne(filter, noted);
    return matchedCount === 1;
  }

  async function count(applicationId: string) {
    const found = await contracts.findOne({ _id: applicationId }, { projection: countFields });
    if (!found) return undefined;
    const { _id, ...counted } = found;
    return counted;
  }

  return {
    async standing(applicationId, deviceId) {
      const [named, counted] = await Promise.all([
        contractDevices.findOne({ _id: contractDeviceId(applicationId, deviceId) }),
        count(applicationId),
      ]);
      return {
        named: named !== null,
        freeSlots: counted?.freeSlots ?? 0,
        taking: counted?.takes.some((take) => take.deviceId === deviceId) ?? false,
      };
    },

    async take(applicationId, take) {
      for (;;) {
        const taken = await change(
          {
            _id: applicationId,
            freeSlots: { $gt: 0 },
            'takes.intentId': { $ne: take.intentId },
            ...roomIn('takes'),
          },
          {
            $inc: { freeSlots: -1 },
            $push: { takes: take },
            $min: { checkAtMs: take.atMs + graceMs },
          },
        );
        if (taken) return { take };
        const { freeSlots = 0, takes = [] } = (await count(applicationId)) ?? {};
        const same = takes.find(({ intentId }) => intentId === take.intentId);
        if (same) return { take: same };
        if (freeSlots <= 0) return 'none';
        if (takes.length >= mostUnderWay) return 'busy';
      }
    },

    async confirm(applicationId, takeId) {
      await change({ _id: applicationId, 'takes.id': takeId }, { $pull: { takes: { id: takeId } } });
    },

    refund(applicationId, takeId) {
      return change(
        { _id: applicationId, 'takes.id': takeId },
        { $pull: { takes: { id: takeId } }, $inc: { freeSlots: 1 } },
      );
    },

    async refundIntent(applicationId, intentId) {
      // `take` allows one take per intent.
      await change(
        { _id: applicationId, 'takes.intentId': intentId },
        { $pull: { takes: { intentId } }, $inc: { freeSlots: 1 } },
      );
    },

    beginReturn(applicationId, entry) {
      return change(
        { _id: applicationId, ...roomIn('returns') },
        {
          $push: { returns: entry },
          $pull: { takes: { id: entry.slotId } },
          $min: { checkAtMs: entry.atMs + graceMs },
        },
      );
    },

    async finishReturn(applicationId, returnId) {
      await change(
        { _id: applicationId, 'returns.id': returnId },
        { $pull: { returns: { id: returnId } }, $inc: { freeSlots: 1 } },
      );
    },

    async cancelReturn(applicationId, returnId) {
      await change({ _id: applicationId, 'returns.id': returnId }, { $pull: { returns: { id: returnId } } });
    },

    count,

    recount(applicationId, { activationLimit, changes }, slotsInUse, recountAtMs) {
      return change(
        { _id: applicationId, changes },
        { $set: { freeSlots: activationLimit - slotsInUse, recountAtMs } },
      );
    },

    async claimUnchecked(nowMs, untilMs, limit) {
      const due = await contracts
        .find(
          { checkAtMs: { $lte: nowMs } },
          { sort: { checkAtMs: 1 }, limit, projection: { _id: 1, checkAtMs: 1 } },
        )
        .toArray();
      const claimed: string[] = [];
      for (const { _id, checkAtMs } of due) {
        const { matchedCount } = await contracts.updateOne(
          { _id, checkAtMs },
          { $set: { checkAtMs: untilMs } },
        );
        if (matchedCount === 1) claimed.push(_id);
      }
      return claimed;
    },

    async recall(latestMs, nowMs) {
      await contracts.updateMany({ checkAtMs: { $gt: latestMs } }, { $set: { checkAtMs: nowMs } });
    },

    async checkBefore(applicationId, atMs) {
      await contracts.updateOne({ _id: applicationId }, { $min: { checkAtMs: atMs } });
    },

    async get(applicationId) {
      const projection = { ...countFields, limits: 1 } as const;
      const found = await contracts.findOne({ _id: applicationId }, { projection });
      if (!found) return undefined;
      const { activationLimit, freeSlots, limits = {} } = found;
      return { applicationId, activationLimit, slotsInUse: activationLimit - freeSlots, limits };
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

    async put(applicationId, { activationLimit, add, remove, limits, defaultLimits }, nowMs, record) {
      if (activationLimit !== undefined) await setLimit(applicationId, activationLimit, nowMs, record);
      else if (!(await change({ _id: applicationId }, owing({}, record)))) return false;
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

  async function setLimit(
    applicationId: string,
    activationLimit: number,
    nowMs: number,
    record: OwedRecord,
  ): Promise<void> {
    const blank = {
      activationLimit,
      freeSlots: activationLimit,
      takes: [],
      returns: [],
      changes: 0,
      checkAtMs: nowMs,
      recountAtMs: nowMs,
    };
    for (;;) {
      const found = await contracts.findOne({ _id: applicationId }, { projection: { activationLimit: 1 } });
      if (found) {
        const more = activationLimit - found.activationLimit;
        const seen = { _id: applicationId, activationLimit: found.activationLimit };
        const update: Update<ContractDocument> = { $set: { activationLimit }, $inc: { freeSlots: more } };
        if (await change(seen, owing(update, record))) return;
        continue;
      }
      try {
        await contracts.insertOne({ _id: applicationId, ...blank, ...owingFields(record) });
        return;
      } catch (error) {
        if (!isDuplicateKey(error)) throw error;
      }
    }
  }
}
