import { pendingAuditFields } from '@headset-cloud/rules/audit/record.ts';
import { isDuplicateKey } from '@headset-cloud/runtime/errors.ts';
import type { StoreCollection } from '@headset-cloud/store/types.ts';
import { monthKey, touchedMonths } from '../domain/month.ts';
import { sameUsage, type Usage, usedWithin } from '../domain/usage.ts';
import type { UsageStore } from '../ports.ts';
import type { SheetDocument, UsageDocument } from './documents.ts';
import { entryKey, fitsSheet, onSheets, putOnSheets } from './sheets.ts';

/**
 * Usage in MongoDB. Each usage is one document, inserted once, and this document alone decides whether the usage is
 * stored. It begins as loose, is copied onto its sheet, and is then no longer loose. A bill reads the loose usages and
 * then the sheets without them. So each usage is counted once, whenever a crash happens.
 */
export function createUsageStore(
  collection: StoreCollection<UsageDocument>,
  sheets: StoreCollection<SheetDocument>,
): UsageStore {
  /** Returns the number of new documents. */
  async function insertNew(documents: readonly UsageDocument[], triesLeft = 3): Promise<number> {
    const operations = documents.map(({ _id, ...fields }) => ({
      updateOne: { filter: { _id }, update: { $setOnInsert: fields }, upsert: true },
    }));
    try {
      return (await collection.bulkWrite(operations, { ordered: false })).upsertedCount;
    } catch (error) {
      // A concurrent call inserted one of them: it exists now.
      if (!isDuplicateKey(error) || triesLeft <= 1) throw error;
      return insertNew(documents, triesLeft - 1);
    }
  }

  /** The stored documents. */
  async function stored(ids: readonly string[]): Promise<Map<string, UsageDocument>> {
    const found = new Map<string, UsageDocument>();
    for await (const document of collection.find({ _id: { $in: [...ids] } }))
      found.set(document._id, document);
    return found;
  }

  async function settle(documents: readonly UsageDocument[]): Promise<void> {
    const settled = await putOnSheets(sheets, documents);
    if (settled.length === 0) return;
    await collection.updateMany({ _id: { $in: settled.map(({ _id }) => _id) } }, { $unset: { loose: '' } });
  }

  return {
    async record(usages, auditRecord) {
      if (usages.length === 0) return { added: 0, conflicting: new Set() };
      const documents = usages.map((usage) => ({
        ...documentOf(usage),
        ...(auditRecord && pendingAuditFields(auditRecord)),
      }));
      const added = await insertNew(documents);
      if (added === usages.length) {
        await settle(documents);
        return { added, conflicting: new Set() };
      }
      // Some existed. The first content of an id counts, and usage that a crash left loose is put on its sheet.
      const known = await stored(usages.map(({ usageId }) => usageId));
      await settle([...known.values()].filter(({ loose }) => loose));
      const conflicting = usages.filter((usage) => {
        const first = known.get(usage.usageId);
        return first && !sameUsage(usageOf(first), usage);
      });
      return { added, conflicting: new Set(conflicting.map(({ usageId }) => usageId)) };
    },

    async *around(applicationId, wanted) {
      const month = monthKey(wanted);
      const counted = new Set<string>();
      for await (const document of collection.find({ loose: true, applicationId, months: month })) {
        if (fitsSheet(document)) counted.add(entryKey(document._id));
        yield usageOf(document);
      }
      yield* onSheets(sheets, applicationId, month, counted);
    },

    async list(applicationId, month, span, { limit, offset }) {
      const found: Usage[] = [];
      let passed = 0;
      const sort = { startedAtMs: 1, _id: 1 } as const;
      for await (const document of collection.find({ applicationId, months: monthKey(month) }, { sort })) {
        if (usedWithin(document, span) === 0 && !beginsIn(document, span)) continue;
        passed += 1;
        if (passed <= offset) continue;
        found.push(usageOf(document));
        if (found.length >= limit) break;
      }
      return found;
    },
  };
}

/** Filter: usage without a duration counts in the month in which it began. */
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
  reportedStartedAtMs,
}: Usage): UsageDocument {
  const months = touchedMonths(startedAtMs, startedAtMs + durationMs);
  const reported = reportedStartedAtMs !== undefined && { reportedStartedAtMs };
  return {
    ...{ _id: usageId, applicationId, deviceId, kind, startedAtMs, durationMs },
    ...reported,
    ...{ months, loose: true },
  };
}

function usageOf({ _id, months: _months, loose: _loose, ...rest }: UsageDocument): Usage {
  const { audit: _audit, auditAtMs: _auditAtMs, ...fields } = rest;
  return { usageId: _id, ...fields };
}
