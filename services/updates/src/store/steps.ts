import { pendingAuditIndex } from '@headset-cloud/rules/audit/record.ts';
import { notedKeysCollection } from '@headset-cloud/rules/sealed/noted-keys.ts';
import type { ServiceSteps } from '@headset-cloud/store/schema/steps.ts';
import { pendingAuditIndexes, updatesIndexes } from './documents.ts';

/** Step 1 contains what release 0.1.0 created; a change is a new step (ADR 0034). */
export const updatesSteps: ServiceSteps = {
  service: 'updates',
  steps: [
    { number: 1, name: 'indexes', indexes: updatesIndexes },
    { number: 2, name: 'owed audit records', indexes: pendingAuditIndexes },
    {
      number: 3,
      name: 'owed audit records of operators',
      indexes: { [notedKeysCollection]: [pendingAuditIndex] },
    },
  ],
};
