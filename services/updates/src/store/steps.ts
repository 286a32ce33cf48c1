import { owingIndex } from '@headset-cloud/kit/audit/record.ts';
import type { ServiceSteps } from '@headset-cloud/kit/schema/steps.ts';
import { notedKeysCollection } from '@headset-cloud/kit/sealed/noted-keys.ts';
import { owingIndexes, updatesIndexes } from './documents.ts';

/** Step 1 contains what release 0.1.0 created; a change is a new step (ADR 0034). */
export const updatesSteps: ServiceSteps = {
  service: 'updates',
  steps: [
    { number: 1, name: 'indexes', indexes: updatesIndexes },
    { number: 2, name: 'owed audit records', indexes: owingIndexes },
    { number: 3, name: 'owed audit records of operators', indexes: { [notedKeysCollection]: [owingIndex] } },
  ],
};
