import { pendingAuditIndex } from '@headset-cloud/rules/audit/record.ts';
import { forgetMarkIndexes, forgetMarksCollection } from '@headset-cloud/rules/forget/marks.ts';
import { notedKeysCollection } from '@headset-cloud/rules/sealed/noted-keys.ts';
import type { ServiceSteps } from '@headset-cloud/store/schema/steps.ts';
import {
  channelsOfApplicationIndexes,
  communicationIndexes,
  forgetIndexes,
  pendingAuditIndexes,
  silentIndexes,
} from './documents.ts';

/** Step 1 contains what release 0.1.0 created; a change is a new step (ADR 0034). */
export const communicationSteps: ServiceSteps = {
  service: 'communication',
  steps: [
    { number: 1, name: 'indexes', indexes: communicationIndexes },
    { number: 2, name: 'owed audit records', indexes: pendingAuditIndexes },
    {
      number: 3,
      name: 'owed audit records of operators',
      indexes: { [notedKeysCollection]: [pendingAuditIndex] },
    },
    {
      number: 4,
      name: 'forgotten devices',
      indexes: { ...forgetIndexes, [forgetMarksCollection]: forgetMarkIndexes },
    },
    { number: 5, name: 'forgotten applications', indexes: channelsOfApplicationIndexes },
    { number: 6, name: 'silent connections', indexes: silentIndexes },
  ],
};
