import { pendingAuditIndex } from '@headset-cloud/rules/audit/record.ts';
import { deadLetterIndexes, deadLettersCollection } from '@headset-cloud/rules/dead-letters/documents.ts';
import { notedKeysCollection } from '@headset-cloud/rules/sealed/noted-keys.ts';
import type { ServiceSteps } from '@headset-cloud/store/schema/steps.ts';
import {
  devicesIndexes,
  keysIndexes,
  pendingAuditIndexes,
  removedKeysIndexes,
  retentionIndexes,
  slotIndexes,
} from './documents.ts';

/** Step 1 is the schema of release 0.1.0; a change is a new step (ADR 0034). */
export const devicesSteps: ServiceSteps = {
  service: 'devices',
  steps: [
    {
      number: 1,
      name: 'indexes',
      indexes: { ...devicesIndexes, [deadLettersCollection]: deadLetterIndexes },
    },
    { number: 2, name: 'owed audit records', indexes: pendingAuditIndexes },
    { number: 3, name: 'retention', indexes: retentionIndexes },
    { number: 4, name: 'removed keys', indexes: removedKeysIndexes },
    {
      number: 5,
      name: 'owed audit records of operators',
      indexes: { [deadLettersCollection]: [pendingAuditIndex], [notedKeysCollection]: [pendingAuditIndex] },
    },
    // Empty: versions before release 0.2.0 created an index in this step, which is no longer used.
    { number: 6, name: 'nothing', indexes: {} },
    { number: 7, name: 'devices by key', indexes: keysIndexes },
    { number: 8, name: 'slot numbers', indexes: slotIndexes },
  ],
};
