import type { ServiceSteps } from '@headset-cloud/store/schema/steps.ts';
import { endedIndexes } from './ended-sessions.ts';
import { directoryIndexes } from './session-directory.ts';

/** Step 1 is the schema of release 0.1.0; a change is a new step (ADR 0034). */
export const deviceLinkSteps: ServiceSteps = {
  service: 'device-link',
  steps: [
    { number: 1, name: 'indexes', indexes: directoryIndexes },
    { number: 2, name: 'ended sessions', indexes: endedIndexes },
  ],
};
