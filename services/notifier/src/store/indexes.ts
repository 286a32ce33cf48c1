import { owingIndex } from '@headset-cloud/kit/audit/record.ts';
import type { IndexDescription } from '@headset-cloud/kit/store/operations.ts';

export const deliveriesCollection = 'deliveries';
export const probesCollection = 'probes';
export const feedsCollection = 'feeds';
export const feedPartitionsCollection = 'feed_partitions';
export const recoveriesCollection = 'recoveries';
export const recoveringCollection = 'recovering';
export const outagesCollection = 'outages';
export const idempotencyCollection = 'idempotency';

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

/** Made by step 6 (ADR 0053). */
export const feedIndexes: Readonly<Record<string, IndexDescription[]>> = {
  [deliveriesCollection]: [
    // Lists of an application.
    { key: { applicationId: 1, createdAtMs: 1 }, name: 'application' },
    { key: { applicationId: 1, position: 1 }, name: 'position' },
    // Notices, and what was sent again, until somebody reads the feed.
    {
      key: { applicationId: 1, unplacedAtMs: 1 },
      name: 'unplaced',
      partialFilterExpression: { unplaced: true },
    },
    {
      key: { applicationId: 1, again: 1 },
      name: 'again',
      partialFilterExpression: { again: { $exists: true } },
    },
  ],
};

/** Made by step 7. */
export const recoveryIndexes: Readonly<Record<string, IndexDescription[]>> = {
  [recoveriesCollection]: [
    { key: { dueAtMs: 1 }, name: 'due', sparse: true },
    { key: { expireAt: 1 }, name: 'expire', expireAfterSeconds: 0, sparse: true },
    owingIndex,
  ],
};

/** Made by step 8 (ADR 0055). */
export const noticeIndexes: Readonly<Record<string, IndexDescription[]>> = {
  [deliveriesCollection]: [
    // What was given up in an interval.
    { key: { dueAtMs: 1 }, name: 'dead', partialFilterExpression: { status: 'dead' } },
    // Notices that name a device.
    { key: { names: 1 }, name: 'names', sparse: true },
  ],
  [outagesCollection]: [{ key: { expireAt: 1 }, name: 'expire', expireAfterSeconds: 0 }],
};
