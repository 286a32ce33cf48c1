import { pendingAuditIndex } from '@headset-cloud/rules/audit/record.ts';
import { deadLetterIndexes, deadLettersCollection } from '@headset-cloud/rules/dead-letters/documents.ts';
import { forgetMarkIndexes, forgetMarksCollection } from '@headset-cloud/rules/forget/marks.ts';
import { idempotencyIndexes } from '@headset-cloud/rules/idempotency.ts';
import { notedKeysCollection } from '@headset-cloud/rules/sealed/noted-keys.ts';
import type { ServiceSteps } from '@headset-cloud/store/schema/steps.ts';
import { collections, retentionIndexes, transactionsIndexes } from './documents.ts';

/** Step 1 is the state of release 0.1.0; every change is a new step (ADR 0034). */
export const transactionsSteps: ServiceSteps = {
  service: 'transactions',
  steps: [
    {
      number: 1,
      name: 'indexes',
      indexes: {
        ...transactionsIndexes,
        [collections.idempotency]: idempotencyIndexes,
        [deadLettersCollection]: deadLetterIndexes,
      },
    },
    { number: 2, name: 'retention', indexes: retentionIndexes },
    {
      number: 3,
      name: 'owed audit records of operators',
      indexes: { [deadLettersCollection]: [pendingAuditIndex], [notedKeysCollection]: [pendingAuditIndex] },
    },
    { number: 4, name: 'forgotten devices', indexes: { [forgetMarksCollection]: forgetMarkIndexes } },
  ],
};
