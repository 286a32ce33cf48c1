import { pendingAuditIndex } from '@headset-cloud/rules/audit/record.ts';
import { deadLetterIndexes, deadLettersCollection } from '@headset-cloud/rules/dead-letters/documents.ts';
import type { ServiceSteps } from '@headset-cloud/store/schema/steps.ts';
import { billingIndexes, pendingAuditIndexes, retentionIndexes } from './documents.ts';

/** Step 1 contains what release 0.1.0 created; a change is a new step (ADR 0034). */
export const billingSteps: ServiceSteps = {
  service: 'billing',
  steps: [
    {
      number: 1,
      name: 'indexes',
      indexes: { ...billingIndexes, [deadLettersCollection]: deadLetterIndexes },
    },
    { number: 2, name: 'owed audit records', indexes: pendingAuditIndexes },
    { number: 3, name: 'retention', indexes: retentionIndexes },
    {
      number: 4,
      name: 'owed audit records of operators',
      indexes: { [deadLettersCollection]: [pendingAuditIndex] },
    },
  ],
};
