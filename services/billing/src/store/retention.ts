import type { KeptKind } from '@headset-cloud/rules/retention/kinds.ts';
import type { Filter } from '@headset-cloud/store/operations.ts';
import type { StoreCollection } from '@headset-cloud/store/types.ts';
import { FixedOffsetZone } from 'luxon';
import { type Month, monthAt, monthKey, monthOf, spanOf } from '../domain/month.ts';
import type { SheetDocument, UsageDocument } from './documents.ts';

const hourMs = 3_600_000;
const utc = FixedOffsetZone.utcInstance;

type OldUsage = Pick<UsageDocument, '_id' | 'applicationId' | 'deviceId' | 'months'>;

/**
 * Usage of months that ended long ago, in every time zone (ADR 0045). `freeze` stores the bill of a month before its
 * usage is deleted.
 */
export function oldUsage(
  { usage, sheets }: { usage: StoreCollection<UsageDocument>; sheets: StoreCollection<SheetDocument> },
  keepMs: number,
  freeze: (applicationId: string, month: Month) => Promise<void>,
): KeptKind<OldUsage> {
  const old = (beforeMs: number): Filter<UsageDocument> => {
    // The first month that is not over in every time zone.
    const open = monthAt(beforeMs - 12 * hourMs, utc);
    return {
      startedAtMs: { $lt: spanOf(open, utc).fromMs },
      months: { $not: { $gte: monthKey(open) } },
      // No pending audit record.
      auditAtMs: { $exists: false },
    };
  };
  return {
    kind: 'usage',
    keepMs,
    find(beforeMs, most) {
      const projection = { applicationId: 1, deviceId: 1, months: 1 } as const;
      return usage.find(old(beforeMs), { sort: { startedAtMs: 1 }, limit: most, projection }).toArray();
    },
    async remove(found, beforeMs) {
      const months = new Map<string, { applicationId: string; month: number }>();
      for (const { applicationId, months: touched } of found) {
        for (const month of touched) months.set(`${applicationId}/${month}`, { applicationId, month });
      }
      for (const { applicationId, month } of months.values()) await freeze(applicationId, monthOf(month));
      const sheetIds = found.flatMap(({ applicationId, deviceId, months: touched }) =>
        touched.length === 1 ? [`${applicationId}/${deviceId}/${touched[0]}`] : [],
      );
      await sheets.deleteMany({ _id: { $in: [...new Set(sheetIds)] } });
      const ids = found.map(({ _id }) => _id);
      return (await usage.deleteMany({ _id: { $in: ids }, ...old(beforeMs) })).deletedCount;
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
