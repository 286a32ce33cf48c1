import { withAuditRecord } from '@headset-cloud/rules/audit/record.ts';
import type { Filter } from '@headset-cloud/store/operations.ts';
import type { StoreCollection } from '@headset-cloud/store/types.ts';
import { keyUseIntervalMs, maxKeys } from '../domain/headset-key.ts';
import type { HeadsetKeyStore, KeyInUse, ListedKey } from '../ports/headset-key-store.ts';
import type { DeviceDocument } from './documents.ts';

/**
 * Maximum number of uses that one check stores: a tenth of the checked keys, at least 10. If a whole fleet connects at
 * once, its writes are spread over ten checks; the hourly writes after that are spread in the same way.
 */
const maxStoredUses = (checkedKeys: number): number => Math.max(10, Math.ceil(checkedKeys / 10));
/**
 * How long after a removal its device is returned by `recent`: 30 default intervals of device-link's check;
 * milliseconds.
 */
const recentMs = 60_000;
const maxRecentDevices = 10_000;
const keyFields = { keys: 1, keysUsedAtMs: 1 } as const;

/** The keys in the devices' documents. */
export function createHeadsetKeyStore(devices: StoreCollection<DeviceDocument>): HeadsetKeyStore {
  return {
    async add(deviceId, key, record) {
      const { matchedCount } = await devices.updateOne(
        { _id: deviceId, 'keys.keyId': { $ne: key.keyId }, [`keys.${maxKeys - 1}`]: { $exists: false } },
        // Reports of a forgotten device are accepted again when it gets a key.
        withAuditRecord<DeviceDocument>({ $push: { keys: key }, $unset: { forgottenAtMs: '' } }, record),
      );
      if (matchedCount === 1) return 'added';
      const had = await devices.findOne(
        { _id: deviceId, 'keys.keyId': key.keyId },
        { projection: { _id: 1 } },
      );
      return had ? 'had' : 'none';
    },
    async otherWith(keyId, deviceId) {
      const found = await devices.findOne(
        { 'keys.keyId': keyId, _id: { $ne: deviceId } },
        { projection: { _id: 1 } },
      );
      return found?._id;
    },
    async remove(deviceId, keyId, nowMs, record) {
      const removal = {
        $pull: { keys: { keyId } },
        $unset: { [used(keyId)]: '' as const },
        $max: { keyRemovedAtMs: nowMs },
      };
      const { matchedCount } = await devices.updateOne(
        { _id: deviceId, 'keys.keyId': keyId },
        withAuditRecord(removal, record),
      );
      return matchedCount === 1;
    },
    async recent(nowMs) {
      const found = await devices
        .find(
          { keyRemovedAtMs: { $gte: nowMs - recentMs } },
          { sort: { keyRemovedAtMs: -1 }, limit: maxRecentDevices, projection: { _id: 1 } },
        )
        .toArray();
      return found.map(({ _id }) => _id);
    },
    async list(deviceId) {
      const found = await devices.findOne({ _id: deviceId }, { projection: keyFields });
      return found ? listed(found) : undefined;
    },
    async ofApplication(applicationId, afterDeviceId, limit) {
      const found = await devices
        .find(
          { 'activation.applicationId': applicationId, _id: { $gt: afterDeviceId } },
          { sort: { _id: 1 }, limit, projection: keyFields },
        )
        .toArray();
      return found.map((device) => ({ deviceId: device._id, keys: listed(device) }));
    },
    async check(inUse, nowMs) {
      const ids = [...new Set(inUse.map(({ deviceId }) => deviceId))];
      const found = await devices
        .find({ _id: { $in: ids } }, { projection: { 'keys.keyId': 1, keysUsedAtMs: 1 } })
        .toArray();
      const byId = new Map(found.map((device) => [device._id, device]));
      const removed: number[] = [];
      const toStore: KeyInUse[] = [];
      for (const [position, one] of inUse.entries()) {
        const device = byId.get(one.deviceId);
        if (!device?.keys.some((key) => key.keyId === one.keyId)) removed.push(position);
        else if ((device.keysUsedAtMs?.[one.keyId] ?? 0) <= nowMs - keyUseIntervalMs) toStore.push(one);
      }
      await storeUses(toStore.slice(0, maxStoredUses(inUse.length)), nowMs);
      return removed;
    },
  };

  async function storeUses(uses: readonly KeyInUse[], nowMs: number): Promise<void> {
    if (uses.length === 0) return;
    await devices.bulkWrite(
      uses.map(({ deviceId, keyId }) => {
        // No use is stored for a key that was removed in the meantime.
        const filter: Filter<DeviceDocument> = { _id: deviceId, 'keys.keyId': keyId };
        return { updateOne: { filter, update: { $max: { [used(keyId)]: nowMs } } } };
      }),
      { ordered: false },
    );
  }
}

function listed({ keys, keysUsedAtMs }: Pick<DeviceDocument, 'keys' | 'keysUsedAtMs'>): ListedKey[] {
  return keys.map((key) => {
    const lastUsedAtMs = keysUsedAtMs?.[key.keyId];
    return { ...key, ...(lastUsedAtMs !== undefined && { lastUsedAtMs }) };
  });
}

/** Key ids are thumbprints in base64url: no dots and no dollar signs. */
function used(keyId: string): `keysUsedAtMs.${string}` {
  return `keysUsedAtMs.${keyId}`;
}
