import { type OwedRecord, type OwingDocument, owing, owingIndex } from '../audit/record.ts';
import type { Clock } from '../clock.ts';
import { isDuplicateKey } from '../errors.ts';
import type { IndexDescription } from '../store/operations.ts';
import type { Store } from '../store/types.ts';

/** That an operator has begun to forget a device in this database; it owes the audit record (ADR 0047). */
export interface ForgetMarkDocument extends OwingDocument {
  /** IMEI. */
  _id: string;
  /** The newest run of the command. */
  run: string;
  /** Longer than Kafka may be away, which has to take the record. */
  expiresAt: Date;
}

export const forgetMarksCollection = 'forgotten';

/** Stand in the steps of each service that forgets devices, but has no document of its own for each of them. */
export const forgetMarkIndexes: IndexDescription[] = [
  owingIndex,
  { name: 'expiry', key: { expiresAt: 1 }, expireAfterSeconds: 0 },
];

const keepMs = 7 * 86_400_000;

export interface ForgetMarks {
  /** Stored before the first thing is removed; the calls of one run owe one record. */
  begin(deviceId: string, run: string, record: OwedRecord): Promise<void>;
}

export function createForgetMarks(store: Store, clock: Clock): ForgetMarks {
  const marks = store.collection<ForgetMarkDocument>(forgetMarksCollection);
  return {
    async begin(deviceId, run, record) {
      const set = { $set: { run, expiresAt: new Date(clock.now() + keepMs) } };
      try {
        await marks.updateOne({ _id: deviceId, run: { $ne: run } }, owing<ForgetMarkDocument>(set, record), {
          upsert: true,
        });
      } catch (error) {
        // The run has begun before: the upsert met its own document.
        if (!isDuplicateKey(error)) throw error;
      }
    },
  };
}
