import { coalesce } from '@headset-cloud/kit/batching/coalesce.ts';
import { batchLimits } from '@headset-cloud/kit/store/coalesced.ts';
import type { StoreCollection } from '@headset-cloud/kit/store/types.ts';
import type { WithId } from 'mongodb';
import { resetOperation } from '../domain/forms/operations.ts';
import type { TransactionDocument } from './documents.ts';

/**
 * Accepted resets of devices, read at each hello (rule B7): headsets that come back at the same time share
 * one query.
 */
export function acceptedResets(
  transactions: StoreCollection<TransactionDocument>,
): (deviceId: string) => Promise<readonly WithId<TransactionDocument>[]> {
  return coalesce<string, readonly WithId<TransactionDocument>[]>({
    ...batchLimits(transactions),
    async run(deviceIds) {
      const found = await transactions
        .find({
          deviceId: { $in: [...new Set(deviceIds)] },
          open: true,
          status: 'accepted',
          operationId: resetOperation,
        })
        .toArray();
      const byDevice = Map.groupBy(found, (d) => d.deviceId);
      return deviceIds.map((id) => ({ value: byDevice.get(id) ?? [] }));
    },
  });
}
