import type { ServiceSteps } from '@headset-cloud/kit/schema/steps.ts';

/** Steps whose effect can be seen: the first one makes numbers unique. */
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
