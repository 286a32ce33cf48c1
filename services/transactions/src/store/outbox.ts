import type { StoreCollection } from '@headset-cloud/store/types.ts';
import { Binary } from 'mongodb';
import type { OutboxStore } from '../ports/outbox-store.ts';
import type { StoredTransaction } from '../ports/stored-transaction.ts';
import { toStored } from './changes.ts';
import type { TransactionDocument } from './documents.ts';

/** The callbacks that transactions owe to the log, and the time at which the sweeper looks at a transaction. */
export function createOutboxStore(transactions: StoreCollection<TransactionDocument>): OutboxStore {
  return {
    async clearOutbox(published) {
      await transactions.bulkWrite(
        published.map((p) => ({
          updateOne: {
            filter: { _id: p.id, outboxSeq: p.outboxSeq },
            update: {
              ...(p.operation && { $set: { operation: new Binary(p.operation) } }),
              $unset: {
                outbox: true as const,
                acceptStamp: true as const,
                resultStamp: true as const,
                'progress.owed': true as const,
                ...(!p.deferred && { dueAt: true as const }),
              },
            },
          },
        })),
        { ordered: false },
      );
    },

    async claimDue(now, until, limit) {
      // Without the operations, of up to 1 MiB each: they are read only for the claimed transactions.
      const due = await transactions
        .find({ dueAt: { $lte: new Date(now) } }, { sort: { dueAt: 1 }, limit, projection: { dueAt: 1 } })
        .toArray();
      const claimed: StoredTransaction[] = [];
      for (const d of due) {
        const mine = await transactions.findOneAndUpdate(
          { _id: d._id, dueAt: d.dueAt as Date },
          { $set: { dueAt: new Date(until) } },
          { returnDocument: 'after' },
        );
        if (mine) claimed.push(toStored(mine));
      }
      return claimed;
    },
    async recall(latest, now) {
      // Progress that is deferred, and nothing else, keeps its time: the next report or the end ends that wait.
      const $or = [
        { 'progress.deferred': { $exists: false } },
        { outbox: { $exists: true } },
        { 'progress.owed': true as const },
      ];
      await transactions.updateMany(
        { dueAt: { $gt: new Date(latest) }, $or },
        { $set: { dueAt: new Date(now) } },
      );
    },
    async setDue(id, outboxSeq, at) {
      await transactions.updateOne({ _id: id, outboxSeq }, { $set: { dueAt: new Date(at) } });
    },
  };
}
