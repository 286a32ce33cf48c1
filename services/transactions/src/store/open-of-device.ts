import { coalesce, type ItemOutcome } from '@headset-cloud/runtime/batching/coalesce.ts';
import { batchLimits } from '@headset-cloud/store/coalesced.ts';
import type { StoreCollection } from '@headset-cloud/store/types.ts';
import type { OpenOfDevice } from '../ports/queries.ts';
import type { TransactionDocument } from './documents.ts';
import { openFields, toOpen } from './fields.ts';

/** Documents in one read; few, because each may have 1 MiB and the embedded store blocks meanwhile. */
const openAtOnce = 64;

/**
 * The open transactions of a device in order of id, read at each hello: headsets that come at the same time share a
 * page, where each command is a round trip.
 */
export function openOfDevices(
  transactions: StoreCollection<TransactionDocument>,
): (deviceId: string) => Promise<OpenOfDevice[]> {
  const alone = async (deviceId: string): Promise<OpenOfDevice[]> => {
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
  if (transactions.batchesAtOnce !== undefined) return alone;
  return coalesce<string, OpenOfDevice[]>({
    ...batchLimits(transactions),
    async run(deviceIds) {
      const wanted = [...new Set(deviceIds)];
      const page = wanted.length === 1 ? undefined : await pageOf(wanted);
      const byDevice = Map.groupBy(page ?? [], (d) => d.deviceId);
      // A full page may end among the transactions of a device: it and those after it are read by themselves.
      const cutAt = page?.[openAtOnce - 1]?.deviceId;
      const isWhole = (id: string) => page !== undefined && (cutAt === undefined || id < cutAt);
      return await Promise.all(
        deviceIds.map(async (id): Promise<ItemOutcome<OpenOfDevice[]>> => {
          if (isWhole(id)) return { value: (byDevice.get(id) ?? []).map(toOpen) };
          // One that cannot be read takes nobody else's answer away.
          return alone(id).then(
            (value) => ({ value }),
            (error: unknown) => ({ error }),
          );
        }),
      );
    },
  });
}
