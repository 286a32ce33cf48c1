import { owingIndex } from '@headset-cloud/kit/audit/record.ts';
import { letterIndexes, lettersCollection } from '@headset-cloud/kit/dead-letters/documents.ts';
import { forgetMarkIndexes, forgetMarksCollection } from '@headset-cloud/kit/forget/marks.ts';
import { idempotencyIndexes } from '@headset-cloud/kit/idempotency.ts';
import type { ServiceSteps } from '@headset-cloud/kit/schema/steps.ts';
import { notedKeysCollection } from '@headset-cloud/kit/sealed/noted-keys.ts';
import { collections, retentionIndexes, transactionsIndexes } from './documents.ts';

/** Step 1 is what release 0.1.0 made; a change is a new step (ADR 0034). */
export const transactionsSteps: ServiceSteps = {
  service: 'transactions',
  steps: [
    {
      number: 1,
      name: 'indexes',
      indexes: {
        ...transactionsIndexes,
        [collections.idempotency]: idempotencyIndexes,
        [lettersCollection]: letterIndexes,
      },
    },
    { number: 2, name: 'retention', indexes: retentionIndexes },
    {
      number: 3,
      name: 'owed audit records of operators',
      indexes: { [lettersCollection]: [owingIndex], [notedKeysCollection]: [owingIndex] },
    },
    { number: 4, name: 'forgotten devices', indexes: { [forgetMarksCollection]: forgetMarkIndexes } },
  ],
};
