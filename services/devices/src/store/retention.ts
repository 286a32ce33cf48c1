import type { KeptKind } from '@headset-cloud/rules/retention/kinds.ts';
import type { Clock } from '@headset-cloud/runtime/clock.ts';
import type { Filter } from '@headset-cloud/store/operations.ts';
import type { StoreCollection } from '@headset-cloud/store/types.ts';
import type { DeviceDocument } from './documents.ts';

const notActivated = { 'activation.applicationId': null } as const;

/**
 * Removes the reported state of devices that are not activated (ADR 0045). Keeps the documents, with the fields that
 * order reports and the versions that decide whether an operation is allowed. Checks each device again after another
 * retention period, because its headset may have connected and reported in the meantime.
 */
export function reportedOfDeactivated(
  devices: StoreCollection<DeviceDocument>,
  keepMs: number,
  clock: Clock,
): KeptKind<string> {
  const deactivatedBefore = (ms: number): Filter<DeviceDocument> => ({
    ...notActivated,
    deactivatedAtMs: { $lt: ms },
  });
  /** Filter: devices that release 0.1.0 deactivated, and new devices. Their retention period begins now. */
  const undated: Filter<DeviceDocument> = { ...notActivated, deactivatedAtMs: null };
  return {
    kind: 'reported-state',
    keepMs,
    async find(beforeMs, most) {
      const projection = { _id: 1 } as const;
      const due = await devices
        .find(deactivatedBefore(beforeMs), { sort: { deactivatedAtMs: 1 }, limit: most, projection })
        .toArray();
      const fresh =
        due.length < most
          ? await devices.find(undated, { limit: most - due.length, projection }).toArray()
          : [];
      return [...due, ...fresh].map(({ _id }) => _id);
    },
    async remove(ids, beforeMs) {
      const deactivatedAtMs = clock.now();
      const these = { _id: { $in: [...ids] } };
      const due = { ...these, ...deactivatedBefore(beforeMs) };
      const introduced = { ...due, 'reported.introduction.sessionEpoch': { $exists: true } };
      const reported = { ...due, 'reported.inventory.reportId': { $exists: true } };
      await devices.updateMany(introduced, {
        $set: { 'reported.introduction.apps': [], 'reported.introduction.languages': [] },
      });
      await devices.updateMany(reported, {
        $set: { 'reported.inventory.apps': [], 'reported.inventory.languages': [] },
      });
      // The last update with the filter `due`: it changes `deactivatedAtMs`, so that the device no longer matches.
      const { modifiedCount } = await devices.updateMany(due, {
        $set: { deactivatedAtMs },
        $unset: {
          'reported.power': '',
          'reported.wearing': '',
          'reported.network': '',
          'reported.charging': '',
          'reported.battery': '',
          'reported.location': '',
        },
      });
      await devices.updateMany(
        { ...these, ...undated },
        { $set: { deactivatedAtMs }, $unset: { 'reported.location': '' } },
      );
      return modifiedCount;
    },
    async oldestMs() {
      const oldest = await devices.findOne(
        { ...notActivated, deactivatedAtMs: { $gt: 0 } },
        { sort: { deactivatedAtMs: 1 }, projection: { deactivatedAtMs: 1 } },
      );
      return oldest?.deactivatedAtMs ?? undefined;
    },
  };
}
