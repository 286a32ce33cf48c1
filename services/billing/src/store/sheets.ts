import { createHash } from 'node:crypto';
import { isDuplicateKey } from '@headset-cloud/runtime/errors.ts';
import type { StoreCollection } from '@headset-cloud/store/types.ts';
import { type Usage, usageKinds } from '../domain/usage.ts';
import type { SheetDocument, SheetEntry, UsageDocument } from './documents.ts';

/** Maximum entries of one sheet; each change writes the whole sheet. */
const mostEntries = 2000;

/** Key of a usage on its sheet. Encoded, because ids may contain characters that field names may not. */
export function entryKey(usageId: string): string {
  return createHash('sha256').update(usageId).digest('base64url').slice(0, 22);
}

/** True for usage that lies in the same single month in every time zone. Only such usage is put on a sheet. */
export function fitsSheet({ months }: Pick<UsageDocument, 'months'>): boolean {
  return months.length === 1;
}

/**
 * Puts usages on their sheets. Returns the usages that are on a sheet now. Usages stay loose if their sheet is full, or
 * if another call creates the same sheet at the same time.
 */
export async function putOnSheets(
  collection: StoreCollection<SheetDocument>,
  usages: readonly UsageDocument[],
): Promise<UsageDocument[]> {
  const sheets = new Map<string, UsageDocument[]>();
  for (const usage of usages) {
    if (!fitsSheet(usage)) continue;
    const id = `${usage.applicationId}/${usage.deviceId}/${usage.months[0]}`;
    const same = sheets.get(id);
    if (same) same.push(usage);
    else sheets.set(id, [usage]);
  }
  if (sheets.size === 0) return [];
  const parts = [...sheets.values()];
  const failed = new Set<number>();
  try {
    await collection.bulkWrite(
      [...sheets].map(([_id, part]) => addition(_id, part)),
      { ordered: false },
    );
  } catch (error) {
    const errors = duplicates(error);
    if (!errors) throw error;
    for (const index of errors) failed.add(index);
  }
  return parts.flatMap((part, index) => (failed.has(index) ? [] : part));
}

function addition(_id: string, part: readonly UsageDocument[]) {
  const [first] = part as [UsageDocument];
  const { applicationId, deviceId, months } = first;
  const entries = part.map(({ _id: usageId, kind, startedAtMs, durationMs }) => {
    const entry: SheetEntry = [usageKinds.indexOf(kind), startedAtMs, durationMs];
    return [`entries.${entryKey(usageId)}`, entry] as const;
  });
  return {
    updateOne: {
      filter: { _id, size: { $lt: mostEntries } },
      update: {
        $setOnInsert: { applicationId, deviceId, month: months[0] as number },
        $set: Object.fromEntries(entries),
        $inc: { size: part.length },
      },
      upsert: true,
    },
  };
}

/** The operations that failed because their sheet exists (full, or just created); undefined for other failures. */
function duplicates(error: unknown): number[] | undefined {
  const { writeErrors } = error as { writeErrors?: readonly { index: number; code?: unknown }[] };
  if (!isDuplicateKey(error) || !writeErrors?.every((one) => one.code === 11000)) return undefined;
  return writeErrors.map(({ index }) => index);
}

/** The entries on an application's sheets of a month, except the given usages. */
export async function* onSheets(
  collection: StoreCollection<SheetDocument>,
  applicationId: string,
  month: number,
  except: ReadonlySet<string>,
): AsyncGenerator<Pick<Usage, 'deviceId' | 'kind' | 'startedAtMs' | 'durationMs'>> {
  const projection = { _id: 0, deviceId: 1, entries: 1 } as const;
  for await (const { deviceId, entries } of collection.find({ applicationId, month }, { projection })) {
    for (const [key, [place, startedAtMs, durationMs]] of Object.entries(entries)) {
      const kind = usageKinds[place];
      if (kind && !except.has(key)) yield { deviceId, kind, startedAtMs, durationMs };
    }
  }
}
