import type { PendingAuditRecord } from '@headset-cloud/rules/audit/record.ts';
import type { IndexDescription } from '@headset-cloud/store/operations.ts';
import type { ServiceSteps } from '@headset-cloud/store/schema/steps.ts';

/** A record of the audit store: inserted once, never changed, deleted after its retention period (retention.ts). */
export interface RecordDocument extends Omit<PendingAuditRecord, 'id'> {
  /** The record's id. */
  _id: string;
  /** The client, or the operator's name. */
  actor: string;
  /** The action without its package: UpdateSettings. */
  call: string;
  /** Time of storing. Absent if an older version stored the record. */
  storedAtMs?: number;
}

/** Database of audit records. A separate database can have its own access rights, backups and size. */
export const auditDatabase = 'audit';
export const recordsCollection = 'records';

const indexBy = (field: string): IndexDescription => ({
  name: field,
  key: { [field]: 1, atMs: -1, _id: -1 },
});

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
          ...['actor', 'call', 'applicationId', 'developerId', 'deviceId'].map(indexBy),
        ],
      },
    },
  ],
};
