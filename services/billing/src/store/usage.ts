import { isDuplicateKey } from '@headset-cloud/kit/errors.ts';
import type { StoreCollection } from '@headset-cloud/kit/store/types.ts';
import { monthKey, touchedMonths } from '../domain/month.ts';
import { sameUsage, type Usage, usedWithin } from '../domain/usage.ts';
import type { UsageStore } from '../ports.ts';
import type { UsageDocument } from './documents.ts';

/** Usage in MongoDB: one document each, written once. */
export function createUsageStore(collection: StoreCollection<UsageDocument>): UsageStore {
  /** How many were new. */
  async function insertNew(usages: readonly Usage[], triesLeft = 3): Promise<number> {
    const operations = usages.map((usage) => {
      const { _id, ...fields } = documentOf(usage);
      return { updateOne: { filter: { _id }, update: { $setOnInsert: fields }, upsert: true } };
    });
    try {
      return (await collection.bulkWrite(operations, { ordered: false })).upsertedCount;
    } catch (error) {
      // Somebody else was about to insert one of them: it is there now.
      if (!isDuplicateKey(error) || triesLeft <= 1) throw error;
      return insertNew(usages, triesLeft - 1);
    }
  }

  return {
    async record(usages) {
      if (usages.length === 0) return { added: 0, conflicting: new Set() };
      const added = await insertNew(usages);
      if (added === usages.length) return { added, conflicting: new Set() };
      // Some were known: the first content of an id is the one that counts.
      const ids = usages.map(({ usageId }) => usageId);
      const known = new Map<string, Usage>();
      for await (const document of collection.find({ _id: { $in: ids } })) {
        known.set(document._id, usageOf(document));
      }
      const conflicting = usages.filter((usage) => {
        const first = known.get(usage.usageId);
        return first && !sameUsage(first, usage);
      });
      return { added, conflicting: new Set(conflicting.map(({ usageId }) => usageId)) };
    },

    around(applicationId, month) {
      return collection.find(
        { applicationId, months: monthKey(month) },
        { projection: { _id: 0, deviceId: 1, kind: 1, startedAtMs: 1, durationMs: 1 } },
      );
    },

    async list(applicationId, month, span, limit) {
      const found: Usage[] = [];
      const sort = { startedAtMs: 1, _id: 1 } as const;
      for await (const document of collection.find({ applicationId, months: monthKey(month) }, { sort })) {
        if (usedWithin(document, span) === 0 && !beginsIn(document, span)) continue;
        found.push(usageOf(document));
        if (found.length >= limit) break;
      }
      return found;
    },
  };
}

/** Usage of no duration lies in the month in which it began. */
function beginsIn(
  { startedAtMs }: UsageDocument,
  { fromMs, toMs }: { fromMs: number; toMs: number },
): boolean {
  return startedAtMs >= fromMs && startedAtMs < toMs;
}

function documentOf({
  usageId,
  applicationId,
  deviceId,
  kind,
  startedAtMs,
  durationMs,
}: Usage): UsageDocument {
  const months = touchedMonths(startedAtMs, startedAtMs + durationMs);
  return { _id: usageId, applicationId, deviceId, kind, startedAtMs, durationMs, months };
}

function usageOf({ _id, applicationId, deviceId, kind, startedAtMs, durationMs }: UsageDocument): Usage {
  return { usageId: _id, applicationId, deviceId, kind, startedAtMs, durationMs };
}
