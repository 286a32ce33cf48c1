import { isDuplicateKey } from '@headset-cloud/kit/errors.ts';
import type { StoreCollection } from '@headset-cloud/kit/store/types.ts';
import type { ContractStore } from '../ports.ts';
import type { ContractDeviceDocument, ContractDocument, SlotEntry } from './documents.ts';

/** A letter first: a path part that is a number could be read as a position in an array. */
const slotKey = (deviceId: string) => `d${deviceId}`;
const contractDeviceId = (applicationId: string, deviceId: string) => `${applicationId}/${deviceId}`;

/** `graceMs`: how long after it was taken a slot is checked for the first time. */
export function createContractStore(
  contracts: StoreCollection<ContractDocument>,
  contractDevices: StoreCollection<ContractDeviceDocument>,
  graceMs: number,
): ContractStore {
  async function slotOf(applicationId: string, deviceId: string) {
    const key = slotKey(deviceId);
    const found = await contracts.findOne(
      { _id: applicationId },
      { projection: { freeSlots: 1, [`slots.${key}`]: 1 } },
    );
    return { freeSlots: found?.freeSlots ?? 0, slot: found?.slots?.[key] };
  }

  async function removeSlot(applicationId: string, deviceId: string, only: Partial<SlotEntry>) {
    const path = `slots.${slotKey(deviceId)}`;
    const same = Object.entries(only).map(([name, value]) => [`${path}.${name}`, value]);
    const { matchedCount } = await contracts.updateOne(
      { _id: applicationId, ...Object.fromEntries(same) },
      { $unset: { [path]: '' }, $inc: { freeSlots: 1 } },
    );
    return matchedCount === 1;
  }

  return {
    async standing(applicationId, deviceId) {
      const [named, { freeSlots, slot }] = await Promise.all([
        contractDevices.findOne({ _id: contractDeviceId(applicationId, deviceId) }),
        slotOf(applicationId, deviceId),
      ]);
      return { named: named !== null, freeSlots, holdsSlot: slot !== undefined };
    },

    async takeSlot(applicationId, deviceId, slotId, nowMs) {
      const path = `slots.${slotKey(deviceId)}`;
      const entry: SlotEntry = { slotId, takenAtMs: nowMs };
      const taken = { $set: { [path]: entry }, $min: { checkAtMs: nowMs + graceMs } };
      for (;;) {
        const free = await contracts.updateOne(
          { _id: applicationId, freeSlots: { $gt: 0 }, [path]: { $exists: false } },
          { ...taken, $inc: { freeSlots: -1 } },
        );
        if (free.matchedCount === 1) return true;
        const { freeSlots, slot } = await slotOf(applicationId, deviceId);
        if (slot) {
          // Nobody else can use it: the device vouches only for the caller's intent.
          const over = await contracts.updateOne(
            { _id: applicationId, [`${path}.slotId`]: slot.slotId },
            taken,
          );
          if (over.matchedCount === 1) return true;
        } else if (freeSlots <= 0) return false;
      }
    },

    async releaseSlot(applicationId, deviceId, slotId) {
      await removeSlot(applicationId, deviceId, { slotId });
    },

    freeSlot(applicationId, { deviceId, slotId, takenAtMs }) {
      return removeSlot(applicationId, deviceId, { slotId, takenAtMs });
    },

    async grantSlot(applicationId, { deviceId, slotId, takenAtMs }) {
      const path = `slots.${slotKey(deviceId)}`;
      const { matchedCount } = await contracts.updateOne(
        { _id: applicationId, [path]: { $exists: false } },
        { $set: { [path]: { slotId, takenAtMs } }, $inc: { freeSlots: -1 } },
      );
      return matchedCount === 1;
    },

    async slots(applicationId) {
      const found = await contracts.findOne({ _id: applicationId }, { projection: { slots: 1 } });
      return Object.entries(found?.slots ?? {}).map(([key, entry]) => ({ deviceId: key.slice(1), ...entry }));
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

    async checkBefore(applicationId, atMs) {
      await contracts.updateOne({ _id: applicationId }, { $min: { checkAtMs: atMs } });
    },

    async get(applicationId) {
      const [contract, named] = await Promise.all([
        contracts.findOne({ _id: applicationId }, { projection: { activationLimit: 1, freeSlots: 1 } }),
        contractDevices
          .find({ applicationId }, { sort: { deviceId: 1 }, projection: { deviceId: 1 } })
          .toArray(),
      ]);
      if (!contract) return undefined;
      return {
        applicationId,
        activationLimit: contract.activationLimit,
        slotsInUse: contract.activationLimit - contract.freeSlots,
        deviceIds: named.map(({ deviceId }) => deviceId),
      };
    },

    async put(applicationId, { activationLimit, add, remove }, nowMs) {
      for (;;) {
        const found = await contracts.findOne({ _id: applicationId }, { projection: { activationLimit: 1 } });
        if (!found) {
          const blank = { activationLimit, freeSlots: activationLimit, slots: {}, checkAtMs: nowMs };
          try {
            await contracts.insertOne({ _id: applicationId, ...blank });
            break;
          } catch (error) {
            if (!isDuplicateKey(error)) throw error;
            continue;
          }
        }
        const { matchedCount } = await contracts.updateOne(
          { _id: applicationId, activationLimit: found.activationLimit },
          { $set: { activationLimit }, $inc: { freeSlots: activationLimit - found.activationLimit } },
        );
        if (matchedCount === 1) break;
      }
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
    },
  };
}
