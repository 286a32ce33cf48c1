import { pendingAuditIndex } from '@headset-cloud/rules/audit/record.ts';
import { deadLetterIndexes, deadLettersCollection } from '@headset-cloud/rules/dead-letters/documents.ts';
import { forgetMarkIndexes, forgetMarksCollection } from '@headset-cloud/rules/forget/marks.ts';
import { idempotencyIndexes } from '@headset-cloud/rules/idempotency.ts';
import type { ServiceSteps } from '@headset-cloud/store/schema/steps.ts';
import {
  deliveriesCollection,
  feedIndexes,
  idempotencyCollection,
  noticeIndexes,
  notifierIndexes,
  recoveryIndexes,
} from './indexes.ts';

/** Step 1 contains what release 0.1.0 created; a change is a new step (ADR 0034). */
export const notifierSteps: ServiceSteps = {
  service: 'notifier',
  steps: [
    {
      number: 1,
      name: 'indexes',
      indexes: { ...notifierIndexes, [deadLettersCollection]: deadLetterIndexes },
    },
    { number: 2, name: 'owed audit records', indexes: { [deliveriesCollection]: [pendingAuditIndex] } },
    {
      number: 3,
      name: 'owed audit records of operators',
      indexes: { [deadLettersCollection]: [pendingAuditIndex] },
    },
    { number: 4, name: 'forgotten devices', indexes: { [forgetMarksCollection]: forgetMarkIndexes } },
    {
      number: 5,
      name: 'answers of test callbacks',
      indexes: { [idempotencyCollection]: idempotencyIndexes },
    },
    { number: 6, name: 'event feed', indexes: feedIndexes },
    { number: 7, name: 'recoveries', indexes: recoveryIndexes },
    { number: 8, name: 'notices', indexes: noticeIndexes },
  ],
};
