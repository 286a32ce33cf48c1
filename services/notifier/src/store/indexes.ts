import type { IndexDescription } from '@headset-cloud/kit/store/operations.ts';

export const deliveriesCollection = 'deliveries';
export const probesCollection = 'probes';

/** Made by step 1 (steps.ts). */
export const notifierIndexes: Readonly<Record<string, IndexDescription[]>> = {
  [deliveriesCollection]: [
    // Claims, the search for lanes with work, and lists of an application.
    { key: { status: 1, lane: 1, dueAtMs: 1 }, name: 'lane' },
    // Earlier ones of an order key; a device's key has very many that have ended.
    {
      key: { orderKey: 1, order: 1, sequence: 1 },
      name: 'unfinished',
      partialFilterExpression: { status: 'pending' },
    },
    // Later ones of an order key, ended or not.
    {
      key: { orderKey: 1, sequence: 1 },
      name: 'behind_progress',
      partialFilterExpression: { behindProgress: true },
    },
    // Lists, and the age of the oldest undelivered one.
    { key: { status: 1, createdAtMs: 1 }, name: 'created' },
    // Only ended ones have it.
    { key: { expireAt: 1 }, name: 'expire', expireAfterSeconds: 0, sparse: true },
  ],
  [probesCollection]: [{ key: { expireAt: 1 }, name: 'expire', expireAfterSeconds: 0 }],
};
