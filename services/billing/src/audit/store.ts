import type { Clock } from '@headset-cloud/runtime/clock.ts';
import { areDuplicates, DomainError } from '@headset-cloud/runtime/errors.ts';
import type { Filter } from '@headset-cloud/store/operations.ts';
import type { StoreCollection } from '@headset-cloud/store/types.ts';
import type { RecordDocument } from './documents.ts';

/** Filter of a list; an absent field matches every record. */
export interface RecordQuery {
  readonly actor?: string;
  readonly applicationId?: string;
  readonly developerId?: string;
  readonly deviceId?: string;
  readonly action?: string;
  readonly fromMs?: number;
  /** Exclusive. */
  readonly toMs?: number;
  readonly limit: number;
  /** Cursor that the previous page returned. */
  readonly cursor?: string;
}

/** Adds and reads audit records. Retention deletes old records through the interface of retention.ts. */
export interface AuditStore {
  /** Stores records whose id is new. Records with a known id are ignored. Returns the number of new records. */
  add(records: readonly RecordDocument[]): Promise<number>;
  /** Returns a page of matching records, newest first. `nextCursor` is empty after the last page. */
  list(query: RecordQuery): Promise<{ records: RecordDocument[]; nextCursor: string }>;
}

export function createAuditStore(records: StoreCollection<RecordDocument>, clock: Clock): AuditStore {
  return {
    async add(documents) {
      if (documents.length === 0) return 0;
      const storedAtMs = clock.now();
      const stored = documents.map((document) => ({ ...document, storedAtMs }));
      try {
        // Inserts instead of upserts, so that the right to update is not needed (docs/operations/audit.md).
        return (await records.insertMany(stored, { ordered: false })).insertedCount;
      } catch (error) {
        if (!areDuplicates(error)) throw error;
        return (error as { insertedCount?: number }).insertedCount ?? 0;
      }
    },

    async list({ limit, cursor, ...query }) {
      const found = await records
        .find(filterOf(query, cursor), { sort: { atMs: -1, _id: -1 }, limit: limit + 1 })
        .toArray();
      const page = found.slice(0, limit);
      const last = page.at(-1);
      return { records: page, nextCursor: found.length > limit && last ? `${last.atMs}.${last._id}` : '' };
    },
  };
}

function filterOf(
  { action, fromMs, toMs, ...equalities }: Omit<RecordQuery, 'limit' | 'cursor'>,
  cursor: string | undefined,
): Filter<RecordDocument> {
  const [before, beforeId] = cursor === undefined ? [] : parseCursor(cursor);
  const latest = Math.min(toMs === undefined ? Number.MAX_SAFE_INTEGER : toMs - 1, before ?? Infinity);
  return {
    ...equalities,
    ...(action !== undefined && { call: action.split('.').at(-1) as string }),
    ...(action?.includes('.') && { action }),
    atMs: { $gte: fromMs ?? 0, $lte: latest },
    ...(before !== undefined && {
      $or: [{ atMs: { $lt: before } }, { atMs: before, _id: { $lt: beforeId as string } }],
    }),
  } as Filter<RecordDocument>;
}

function parseCursor(cursor: string): [atMs: number, id: string] {
  const [, atMs, id] = /^(\d{1,16})\.([\w-]{1,100})$/.exec(cursor) ?? [];
  if (atMs === undefined || id === undefined) {
    throw new DomainError('invalid_argument', 'cursor is not the next_cursor of a list.');
  }
  return [Number(atMs), id];
}
