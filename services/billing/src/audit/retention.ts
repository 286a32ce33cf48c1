import type { KeptKind } from '@headset-cloud/rules/retention/kinds.ts';
import type { Filter } from '@headset-cloud/store/operations.ts';
import type { StoreCollection } from '@headset-cloud/store/types.ts';
import type { RecordDocument } from './documents.ts';

/**
 * Audit records to delete (ADR 0045). A record is old if both its change and its storing happened before the limit: if
 * only the time of the change counted, a wrong clock of the changing process could make a new record old.
 */
export function oldRecords(
  records: StoreCollection<RecordDocument>,
  keepMs: number,
): KeptKind<Pick<RecordDocument, '_id'>> {
  const old = (beforeMs: number): Filter<RecordDocument> => ({
    atMs: { $lt: beforeMs },
    // Also matches documents without the field.
    storedAtMs: { $not: { $gte: beforeMs } },
  });
  return {
    kind: 'audit',
    keepMs,
    find(beforeMs, most) {
      const projection = { _id: 1 } as const;
      return records.find(old(beforeMs), { sort: { atMs: 1, _id: 1 }, limit: most, projection }).toArray();
    },
    async remove(found, beforeMs) {
      const ids = found.map(({ _id }) => _id);
      return (await records.deleteMany({ _id: { $in: ids }, ...old(beforeMs) })).deletedCount;
    },
    async oldestMs() {
      const oldest = await records.findOne({}, { sort: { atMs: 1, _id: 1 }, projection: { atMs: 1 } });
      return oldest?.atMs;
    },
  };
}
