import { pendingAuditIndex } from '@headset-cloud/rules/audit/record.ts';
import type { IndexDescription } from '@headset-cloud/store/operations.ts';

export const deliveriesCollection = 'deliveries';
export const probesCollection = 'probes';
export const feedsCollection = 'feeds';
export const feedPartitionsCollection = 'feed_partitions';
export const recoveriesCollection = 'recoveries';
export const recoveringCollection = 'recovering';
export const outagesCollection = 'outages';
export const idempotencyCollection = 'idempotency';

/** Created by step 1 (steps.ts). */
export const notifierIndexes: Readonly<Record<string, IndexDescription[]>> = {
  [deliveriesCollection]: [
    // Claims, the search for lanes with work, and lists of an application.
    { key: { status: 1, lane: 1, dueAtMs: 1 }, name: 'lane' },
    // Earlier deliveries of an order key. A device's key has very many finished ones.
    {
      key: { orderKey: 1, order: 1, sequence: 1 },
      name: 'unfinished',
      partialFilterExpression: { status: 'pending' },
    },
    // Later deliveries of an order key, finished or not.
    {
      key: { orderKey: 1, sequence: 1 },
      name: 'behind_progress',
      partialFilterExpression: { behindProgress: true },
    },
    // Lists, and the age of the oldest undelivered one.
    { key: { status: 1, createdAtMs: 1 }, name: 'created' },
    // Only finished ones have the field.
    { key: { expireAt: 1 }, name: 'expire', expireAfterSeconds: 0, sparse: true },
  ],
  [probesCollection]: [{ key: { expireAt: 1 }, name: 'expire', expireAfterSeconds: 0 }],
};

/** Created by step 6 (ADR 0053). */
export const feedIndexes: Readonly<Record<string, IndexDescription[]>> = {
  [deliveriesCollection]: [
    // Lists of an application.
    { key: { applicationId: 1, createdAtMs: 1 }, name: 'application' },
    { key: { applicationId: 1, position: 1 }, name: 'position' },
    // Notices and resends, until the feed is read.
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

/** Created by step 7. */
export const recoveryIndexes: Readonly<Record<string, IndexDescription[]>> = {
  [recoveriesCollection]: [
    { key: { dueAtMs: 1 }, name: 'due', sparse: true },
    { key: { expireAt: 1 }, name: 'expire', expireAfterSeconds: 0, sparse: true },
    pendingAuditIndex,
  ],
};

/** Created by step 8 (ADR 0055). */
export const noticeIndexes: Readonly<Record<string, IndexDescription[]>> = {
  [deliveriesCollection]: [
    // Deliveries that became dead in an interval.
    { key: { dueAtMs: 1 }, name: 'dead', partialFilterExpression: { status: 'dead' } },
    // Notices that name a device.
    { key: { names: 1 }, name: 'names', sparse: true },
  ],
  [outagesCollection]: [{ key: { expireAt: 1 }, name: 'expire', expireAfterSeconds: 0 }],
};
