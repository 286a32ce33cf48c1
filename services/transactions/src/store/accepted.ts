import { coalesce } from '@headset-cloud/runtime/batching/coalesce.ts';
import { batchLimits } from '@headset-cloud/store/coalesced.ts';
import type { StoreCollection } from '@headset-cloud/store/types.ts';
import type { AcceptedTransaction } from '../ports/queries.ts';
import type { TransactionDocument } from './documents.ts';

const fields = { deviceId: 1, operationId: 1, sentEpoch: 1 } as const;

/**
 * The accepted transactions of devices, read when a hello is consumed (rule B7, ADR 0057): headsets that
 * come back at the same time share one query.
 */
export function acceptedOfDevices(
  transactions: StoreCollection<TransactionDocument>,
): (deviceId: string) => Promise<readonly AcceptedTransaction[]> {
  return coalesce<string, readonly AcceptedTransaction[]>({
    ...batchLimits(transactions),
    async run(deviceIds) {
      const filter = { deviceId: { $in: [...new Set(deviceIds)] }, open: true, status: 'accepted' } as const;
      const found = await transactions.find(filter, { projection: fields }).toArray();
      const byDevice = Map.groupBy(found, (d) => d.deviceId);
      return deviceIds.map((deviceId) => ({
        value: (byDevice.get(deviceId) ?? []).map((d) => ({
          id: d._id,
          operationId: d.operationId,
          sentEpoch: d.sentEpoch,
        })),
      }));
    },
  });
}
