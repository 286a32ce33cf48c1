import type { KeptKind } from '@headset-cloud/rules/retention/kinds.ts';
import type { Filter } from '@headset-cloud/store/operations.ts';
import type { Store } from '@headset-cloud/store/types.ts';
import { collections, type TransactionDocument } from './documents.ts';

/** Condition of an ended transaction without pending callbacks (rule B9). */
export const settled = {
  open: { $exists: false },
  dueAt: { $exists: false },
  outbox: { $exists: false },
  'progress.owed': { $exists: false },
} as const;

/** Retention of ended transactions, by the time of their end (ADR 0045). */
export function endedTransactions(store: Store, keepMs: number): KeptKind<number> {
  const transactions = store.collection<TransactionDocument>(collections.transactions);
  const endedBefore = (ms: number): Filter<TransactionDocument> => ({
    'end.at': { $lt: new Date(ms) },
    ...settled,
  });
  return {
    kind: 'transactions',
    keepMs,
    async find(beforeMs, most) {
      const options = { sort: { 'end.at': 1 as const }, limit: most, projection: { _id: 1 as const } };
      const found = await transactions.find(endedBefore(beforeMs), options).toArray();
      return found.map(({ _id }) => _id);
    },
    async remove(ids, beforeMs) {
      const { deletedCount } = await transactions.deleteMany({
        _id: { $in: [...ids] },
        ...endedBefore(beforeMs),
      });
      return deletedCount;
    },
    async oldestMs() {
      const oldest = await transactions.findOne(
        { 'end.at': { $gt: new Date(0) } },
        { sort: { 'end.at': 1 }, projection: { 'end.at': 1 } },
      );
      return oldest?.end?.at.getTime();
    },
  };
}
