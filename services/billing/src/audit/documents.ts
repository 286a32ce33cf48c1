import type { OwedRecord } from '@headset-cloud/kit/audit/record.ts';
import type { ServiceSteps } from '@headset-cloud/kit/schema/steps.ts';
import type { IndexDescription } from '@headset-cloud/kit/store/operations.ts';

/** A record of the audit store: inserted once, never changed, deleted after its time (retention.ts). */
export interface RecordDocument extends Omit<OwedRecord, 'id'> {
  /** The record's id. */
  _id: string;
  /** The client, or the operator's name. */
  actor: string;
  /** The action without its package: UpdateSettings. */
  call: string;
  /** When it was stored; absent: by a process that did not note it yet. */
  storedAtMs?: number;
}

/** The database that holds nothing but records, so that it has rights, backups and a size of its own. */
export const auditDatabase = 'audit';
export const recordsCollection = 'records';

const by = (field: string): IndexDescription => ({ name: field, key: { [field]: 1, atMs: -1, _id: -1 } });

/** Each filter of a list has an index in the list's order. */
export const auditSteps: ServiceSteps = {
  service: 'billing',
  database: auditDatabase,
  steps: [
    {
      number: 1,
      name: 'indexes',
      indexes: {
        [recordsCollection]: [
          { name: 'time', key: { atMs: -1, _id: -1 } },
          ...['actor', 'call', 'applicationId', 'developerId', 'deviceId'].map(by),
        ],
      },
    },
  ],
};
