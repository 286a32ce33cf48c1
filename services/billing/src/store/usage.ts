import { pendingAuditFields } from '@headset-cloud/rules/audit/record.ts';
import { isDuplicateKey } from '@headset-cloud/runtime/errors.ts';
import type { StoreCollection } from '@headset-cloud/store/types.ts';
import { monthKey, touchedMonths } from '../domain/month.ts';
import { sameUsage, type Usage, usedWithin } from '../domain/usage.ts';
import type { UsageStore } from '../ports.ts';
import type { SheetDocument, UsageDocument } from './documents.ts';
import { belongsOnSheet, entriesOnSheets, entryKey, putOnSheets } from './sheets.ts';

/**
 * Usage in the database. Each usage is one document, inserted once. A usage is stored if and only if this document
 * exists. It is inserted as `loose`. Then it is copied onto its sheet, and `loose` is removed. A bill reads the loose
 * usages first, and then the sheets except entries of these usages. So each usage is counted once, also after a crash.
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
      // A concurrent call has inserted one of the documents. The next try finds it.
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

  async function moveToSheets(documents: readonly UsageDocument[]): Promise<void> {
    const moved = await putOnSheets(sheets, documents);
    if (moved.length === 0) return;
    await collection.updateMany({ _id: { $in: moved.map(({ _id }) => _id) } }, { $unset: { loose: '' } });
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
        await moveToSheets(documents);
        return { added, conflicting: new Set() };
      }
      // Some usages existed already. Their stored content stays. Usage that is still loose after a crash is put on its
      // sheet.
      const known = await stored(usages.map(({ usageId }) => usageId));
      await moveToSheets([...known.values()].filter(({ loose }) => loose));
      const conflicting = usages.filter((usage) => {
        const storedUsage = known.get(usage.usageId);
        return storedUsage && !sameUsage(usageOf(storedUsage), usage);
      });
      return { added, conflicting: new Set(conflicting.map(({ usageId }) => usageId)) };
    },

    async *around(applicationId, wanted) {
      const month = monthKey(wanted);
      const looseKeys = new Set<string>();
      for await (const document of collection.find({ loose: true, applicationId, months: month })) {
        if (belongsOnSheet(document)) looseKeys.add(entryKey(document._id));
        yield usageOf(document);
      }
      yield* entriesOnSheets(sheets, applicationId, month, looseKeys);
    },

    async list(applicationId, month, span, { limit, offset }) {
      const found: Usage[] = [];
      let matching = 0;
      const sort = { startedAtMs: 1, _id: 1 } as const;
      for await (const document of collection.find({ applicationId, months: monthKey(month) }, { sort })) {
        if (usedWithin(document, span) === 0 && !beginsIn(document, span)) continue;
        matching += 1;
        if (matching <= offset) continue;
        found.push(usageOf(document));
        if (found.length >= limit) break;
      }
      return found;
    },
  };
}

/** True if the usage began in the month. Usage without a duration is listed in the month in which it began. */
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
