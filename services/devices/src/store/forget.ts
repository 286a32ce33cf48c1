import {
  hasSpaceForRecord,
  type PendingAuditRecord,
  withAuditRecord,
} from '@headset-cloud/rules/audit/record.ts';
import type { Filter } from '@headset-cloud/store/operations.ts';
import type { StoreCollection } from '@headset-cloud/store/types.ts';
import type { ForgetStore, TracesOfDevice } from '../ports/forget-store.ts';
import type { DeviceDocument } from './documents.ts';

/** Filter: no application has the device, and all its changes are published. */
const canBeForgotten: Filter<DeviceDocument> = {
  activation: { $exists: false },
  pending: { $size: 0 },
  undo: { $exists: false },
  'lifecycle.0': { $exists: false },
};

/** Part of a report's filter: later reports of a forgotten device are dropped. */
export const notForgotten: Filter<DeviceDocument> = { forgottenAtMs: { $exists: false } };

/**
 * Counts and removes the personal data in a device's document. The document is kept with its epoch and transaction ids,
 * which must never fall, because they order later activations and transactions (rules A7, B9).
 */
export function createForgetStore(devices: StoreCollection<DeviceDocument>): ForgetStore {
  return {
    async traces(deviceId) {
      const found = await devices.findOne({ _id: deviceId });
      if (!found) return undefined;
      const { activation, pending, undo, lifecycle = [], keys, reported, past = [] } = found;
      const traces: TracesOfDevice = {
        keys: keys.length,
        reported: Object.keys(reported ?? {}).length,
        past: past.length,
        texts: found.specificDestination === undefined ? 0 : 1,
        ...(activation && { applicationId: activation.applicationId }),
        unsettled: [pending[0], undo, lifecycle[0]].some((one) => one !== undefined),
      };
      return traces;
    },
    async forget(deviceId, nowMs, record: PendingAuditRecord) {
      const forgotten = withAuditRecord<DeviceDocument>(
        {
          $set: { keys: [], reported: {}, forgottenAtMs: nowMs },
          // Ends open sessions with the device's keys (ADR 0038).
          $max: { keyRemovedAtMs: nowMs },
          $unset: {
            ...{ keysUsedAtMs: '', past: '', specificDestination: '', deactivatedAtMs: '' },
            ...{ intent: '', slot: '', returned: '' },
          },
        },
        record,
      );
      const { matchedCount } = await devices.updateOne(
        { _id: deviceId, ...canBeForgotten, ...hasSpaceForRecord },
        forgotten,
      );
      return matchedCount === 1;
    },
  };
}
