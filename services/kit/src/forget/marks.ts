import { type OwedRecord, type OwingDocument, owing, owingIndex } from '../audit/record.ts';
import type { Clock } from '../clock.ts';
import { isDuplicateKey } from '../errors.ts';
import type { IndexDescription } from '../store/operations.ts';
import type { Store } from '../store/types.ts';
import { beginningWith } from './ids.ts';

/**
 * That an operator has begun to forget a device or an application in this database; it owes the audit record
 * (ADR 0047).
 */
export interface ForgetMarkDocument extends OwingDocument {
  /** IMEI, or `applicationMark`. */
  _id: string;
  /** The newest run of the command. */
  run: string;
  /** When it was stored; milliseconds since 1970. Absent: by a version that did not note it. */
  beganAtMs?: number;
  /** Longer than Kafka may be away, which has to take the record. */
  expiresAt: Date;
}

export const forgetMarksCollection = 'forgotten';

/** Stand in the steps of each service that forgets something, but has no document of its own for each of it. */
export const forgetMarkIndexes: IndexDescription[] = [
  owingIndex,
  { name: 'expiry', key: { expiresAt: 1 }, expireAfterSeconds: 0 },
];

const keepMs = 7 * 86_400_000;
const ofApplications = 'application/';

/** The mark's id; no IMEI has it, also where an application's id is one. */
export function applicationMark(applicationId: string): string {
  return `${ofApplications}${applicationId}`;
}

export interface ForgetMarks {
  /** Stored before the first thing is removed; the calls of one run owe one record. */
  begin(markId: string, run: string, record: OwedRecord): Promise<void>;
  /** The applications that have a mark, and since when; milliseconds since 1970. */
  applications(): Promise<ReadonlyMap<string, number>>;
}

export function createForgetMarks(store: Store, clock: Clock): ForgetMarks {
  const marks = store.collection<ForgetMarkDocument>(forgetMarksCollection);
  return {
    async begin(markId, run, record) {
      const nowMs = clock.now();
      const set = {
        $set: { run, expiresAt: new Date(nowMs + keepMs) },
        $setOnInsert: { beganAtMs: nowMs },
      };
      try {
        await marks.updateOne({ _id: markId, run: { $ne: run } }, owing<ForgetMarkDocument>(set, record), {
          upsert: true,
        });
      } catch (error) {
        // The run has begun before: the upsert met its own document.
        if (!isDuplicateKey(error)) throw error;
      }
    },
    async applications() {
      const found = await marks
        .find(beginningWith(ofApplications), { projection: { beganAtMs: 1 } })
        .toArray();
      return new Map(found.map(({ _id, beganAtMs = 0 }) => [_id.slice(ofApplications.length), beganAtMs]));
    },
  };
}
