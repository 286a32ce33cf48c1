import type { ServiceSteps } from '@headset-cloud/store/schema/steps.ts';

/** Steps with a visible effect: the first step makes numbers unique. */
export const contractSteps: ServiceSteps = {
  service: 'billing',
  steps: [
    {
      number: 1,
      name: 'indexes',
      indexes: { things: [{ name: 'number', key: { number: 1 }, unique: true }] },
    },
    {
      number: 2,
      name: 'colours',
      indexes: { things: [{ name: 'colour', key: { colour: 1 }, sparse: true }] },
    },
  ],
};
