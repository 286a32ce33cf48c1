import type { Clock } from '@headset-cloud/runtime/clock.ts';
import { isDuplicateKey } from '@headset-cloud/runtime/errors.ts';
import type { IndexDescription } from '@headset-cloud/store/operations.ts';
import type { Store } from '@headset-cloud/store/types.ts';
import {
  type PendingAuditFields,
  type PendingAuditRecord,
  pendingAuditIndex,
  withAuditRecord,
} from '../audit/record.ts';
import { withIdPrefix } from './ids.ts';

/**
 * Stores that an operator has started to forget a device or an application in this database, with the audit record
 * (ADR 0047).
 */
export interface ForgetMarkDocument extends PendingAuditFields {
  /** IMEI, or `applicationMark`. */
  _id: string;
  /** The newest run of the command. */
  run: string;
  /** When the mark was stored; milliseconds since 1970. Absent: stored by a version without this field. */
  beganAtMs?: number;
  /** When the mark expires. It must outlast an outage of Kafka, to which its audit record must still be published. */
  expiresAt: Date;
}

export const forgetMarksCollection = 'forgotten';

/**
 * Indexes for each service that forgets data and has no document per device or application to store the audit record
 * in.
 */
export const forgetMarkIndexes: IndexDescription[] = [
  pendingAuditIndex,
  { name: 'expiry', key: { expiresAt: 1 }, expireAfterSeconds: 0 },
];

const keepMs = 7 * 86_400_000;
const applicationPrefix = 'application/';

/**
 * Returns the id of an application's mark. The prefix distinguishes it from an IMEI, which is also a valid application
 * id.
 */
export function applicationMark(applicationId: string): string {
  return `${applicationPrefix}${applicationId}`;
}

export interface ForgetMarks {
  /** Stores the mark before the first record is removed; the calls of one run store one audit record. */
  begin(markId: string, run: string, record: PendingAuditRecord): Promise<void>;
  /** Applications with a mark, and their start times; milliseconds since 1970. */
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
        await marks.updateOne(
          { _id: markId, run: { $ne: run } },
          withAuditRecord<ForgetMarkDocument>(set, record),
          {
            upsert: true,
          },
        );
      } catch (error) {
        // This run has already stored the mark: the filter does not match the document, so the upsert tries to insert
        // it.
        if (!isDuplicateKey(error)) throw error;
      }
    },
    async applications() {
      const found = await marks
        .find(withIdPrefix(applicationPrefix), { projection: { beganAtMs: 1 } })
        .toArray();
      return new Map(found.map(({ _id, beganAtMs = 0 }) => [_id.slice(applicationPrefix.length), beganAtMs]));
    },
  };
}
