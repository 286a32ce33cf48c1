import { coalesce, type ItemOutcome } from '@headset-cloud/runtime/batching/coalesce.ts';
import { batchLimits } from '@headset-cloud/store/coalesced.ts';
import type { StoreCollection } from '@headset-cloud/store/types.ts';
import type { OpenOfDevice } from '../ports/queries.ts';
import type { TransactionDocument } from './documents.ts';
import { openFields, toOpen } from './fields.ts';

/** Documents per read; few, because a document may have 1 MiB and the embedded store blocks during the read. */
const openAtOnce = 64;

/**
 * Returns a reader of a device's open transactions in order of id. It runs at every hello, so on MongoDB concurrent
 * reads share a page.
 */
export function openOfDevices(
  transactions: StoreCollection<TransactionDocument>,
): (deviceId: string) => Promise<OpenOfDevice[]> {
  const readSeparately = async (deviceId: string): Promise<OpenOfDevice[]> => {
    const options = { sort: { _id: 1 as const }, projection: openFields, limit: openAtOnce };
    const open: OpenOfDevice[] = [];
    for (let after = 0; ; after = open.at(-1)?.id ?? 0) {
      const page = await transactions.find({ deviceId, open: true, _id: { $gt: after } }, options).toArray();
      open.push(...page.map(toOpen));
      if (page.length < openAtOnce) return open;
    }
  };
  const pageOf = (deviceIds: readonly string[]) =>
    transactions
      .find(
        { deviceId: { $in: [...deviceIds] }, open: true },
        {
          sort: { deviceId: 1, _id: 1 },
          projection: { ...openFields, deviceId: 1 },
          limit: openAtOnce,
        },
      )
      .toArray();
  if (transactions.batchesAtOnce !== undefined) return readSeparately;
  return coalesce<string, OpenOfDevice[]>({
    ...batchLimits(transactions),
    async run(deviceIds) {
      const wanted = [...new Set(deviceIds)];
      const page = wanted.length === 1 ? undefined : await pageOf(wanted);
      const byDevice = Map.groupBy(page ?? [], (d) => d.deviceId);
      // A full page may end within the transactions of a device: this device and later ones are read separately.
      const cutAt = page?.[openAtOnce - 1]?.deviceId;
      const isWhole = (id: string) => page !== undefined && (cutAt === undefined || id < cutAt);
      return await Promise.all(
        deviceIds.map(async (id): Promise<ItemOutcome<OpenOfDevice[]>> => {
          if (isWhole(id)) return { value: (byDevice.get(id) ?? []).map(toOpen) };
          // A failed read must not fail the reads of other devices.
          return readSeparately(id).then(
            (value) => ({ value }),
            (error: unknown) => ({ error }),
          );
        }),
      );
    },
  });
}
