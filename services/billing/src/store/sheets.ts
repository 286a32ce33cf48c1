import { createHash } from 'node:crypto';
import { isDuplicateKey } from '@headset-cloud/runtime/errors.ts';
import type { StoreCollection } from '@headset-cloud/store/types.ts';
import { type Usage, usageKinds } from '../domain/usage.ts';
import type { SheetDocument, SheetEntry, UsageDocument } from './documents.ts';

/** Maximum entries of one sheet; each change writes the whole sheet. */
const maxEntries = 2000;

/** Key of a usage on its sheet. Encoded, because ids may contain characters that field names may not. */
export function entryKey(usageId: string): string {
  return createHash('sha256').update(usageId).digest('base64url').slice(0, 22);
}

/** True for usage that is in the same month in every time zone. Other usage is never put on a sheet. */
export function belongsOnSheet({ months }: Pick<UsageDocument, 'months'>): boolean {
  return months.length === 1;
}

/**
 * Puts usages on their sheets. Returns the usages that are on a sheet now. Usages are not put on a sheet if the sheet
 * is full, or if a concurrent call creates the same sheet; they stay loose.
 */
export async function putOnSheets(
  collection: StoreCollection<SheetDocument>,
  usages: readonly UsageDocument[],
): Promise<UsageDocument[]> {
  const sheets = new Map<string, UsageDocument[]>();
  for (const usage of usages) {
    if (!belongsOnSheet(usage)) continue;
    const id = `${usage.applicationId}/${usage.deviceId}/${usage.months[0]}`;
    const same = sheets.get(id);
    if (same) same.push(usage);
    else sheets.set(id, [usage]);
  }
  if (sheets.size === 0) return [];
  const usagesOfSheets = [...sheets.values()];
  const failedIndexes = new Set<number>();
  try {
    await collection.bulkWrite(
      [...sheets].map(([_id, ofSheet]) => addToSheet(_id, ofSheet)),
      { ordered: false },
    );
  } catch (error) {
    const errors = duplicateIndexes(error);
    if (!errors) throw error;
    for (const index of errors) failedIndexes.add(index);
  }
  return usagesOfSheets.flatMap((ofSheet, index) => (failedIndexes.has(index) ? [] : ofSheet));
}

function addToSheet(_id: string, ofSheet: readonly UsageDocument[]) {
  const [first] = ofSheet as [UsageDocument];
  const { applicationId, deviceId, months } = first;
  const entries = ofSheet.map(({ _id: usageId, kind, startedAtMs, durationMs }) => {
    const entry: SheetEntry = [usageKinds.indexOf(kind), startedAtMs, durationMs];
    return [`entries.${entryKey(usageId)}`, entry] as const;
  });
  return {
    updateOne: {
      filter: { _id, size: { $lt: maxEntries } },
      update: {
        $setOnInsert: { applicationId, deviceId, month: months[0] as number },
        $set: Object.fromEntries(entries),
        $inc: { size: ofSheet.length },
      },
      upsert: true,
    },
  };
}

/** The operations that failed because their sheet exists (full, or just created); undefined for other failures. */
function duplicateIndexes(error: unknown): number[] | undefined {
  const { writeErrors } = error as { writeErrors?: readonly { index: number; code?: unknown }[] };
  if (!isDuplicateKey(error) || !writeErrors?.every((one) => one.code === 11000)) return undefined;
  return writeErrors.map(({ index }) => index);
}

/** The entries on an application's sheets of a month, except the given usages. */
export async function* entriesOnSheets(
  collection: StoreCollection<SheetDocument>,
  applicationId: string,
  month: number,
  except: ReadonlySet<string>,
): AsyncGenerator<Pick<Usage, 'deviceId' | 'kind' | 'startedAtMs' | 'durationMs'>> {
  const projection = { _id: 0, deviceId: 1, entries: 1 } as const;
  for await (const { deviceId, entries } of collection.find({ applicationId, month }, { projection })) {
    for (const [key, [kindIndex, startedAtMs, durationMs]] of Object.entries(entries)) {
      const kind = usageKinds[kindIndex];
      if (kind && !except.has(key)) yield { deviceId, kind, startedAtMs, durationMs };
    }
  }
}
