import type { KeptKind } from '@headset-cloud/rules/retention/kinds.ts';
import type { Filter } from '@headset-cloud/store/operations.ts';
import type { StoreCollection } from '@headset-cloud/store/types.ts';
import { FixedOffsetZone } from 'luxon';
import { type Month, monthAt, monthKey, monthOfKey, spanOf } from '../domain/month.ts';
import type { SheetDocument, UsageDocument } from './documents.ts';

const hourMs = 3_600_000;
const utc = FixedOffsetZone.utcInstance;

type OldUsage = Pick<UsageDocument, '_id' | 'applicationId' | 'deviceId' | 'months'>;

/**
 * Usage to delete: of months that ended before the limit in every time zone (ADR 0045). `freeze` stores the bill of a
 * month before its usage is deleted.
 */
export function oldUsage(
  { usage, sheets }: { usage: StoreCollection<UsageDocument>; sheets: StoreCollection<SheetDocument> },
  keepMs: number,
  freeze: (applicationId: string, month: Month) => Promise<void>,
): KeptKind<OldUsage> {
  const isOld = (beforeMs: number): Filter<UsageDocument> => {
    // The first month that has not ended in every time zone before the limit.
    const firstOpen = monthAt(beforeMs - 12 * hourMs, utc);
    return {
      startedAtMs: { $lt: spanOf(firstOpen, utc).fromMs },
      months: { $not: { $gte: monthKey(firstOpen) } },
      // No pending audit record.
      auditAtMs: { $exists: false },
    };
  };
  return {
    kind: 'usage',
    keepMs,
    find(beforeMs, most) {
      const projection = { applicationId: 1, deviceId: 1, months: 1 } as const;
      return usage.find(isOld(beforeMs), { sort: { startedAtMs: 1 }, limit: most, projection }).toArray();
    },
    async remove(found, beforeMs) {
      const months = new Map<string, { applicationId: string; month: number }>();
      for (const { applicationId, months: touched } of found) {
        for (const month of touched) months.set(`${applicationId}/${month}`, { applicationId, month });
      }
      for (const { applicationId, month } of months.values()) await freeze(applicationId, monthOfKey(month));
      const sheetIds = found.flatMap(({ applicationId, deviceId, months: touched }) =>
        touched.length === 1 ? [`${applicationId}/${deviceId}/${touched[0]}`] : [],
      );
      await sheets.deleteMany({ _id: { $in: [...new Set(sheetIds)] } });
      const ids = found.map(({ _id }) => _id);
      return (await usage.deleteMany({ _id: { $in: ids }, ...isOld(beforeMs) })).deletedCount;
    },
    async oldestMs() {
      const oldest = await usage.findOne(
        { startedAtMs: { $gt: 0 } },
        { sort: { startedAtMs: 1 }, projection: { startedAtMs: 1 } },
      );
      return oldest?.startedAtMs;
    },
  };
}
