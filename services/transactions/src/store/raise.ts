import { type RaiseReport, type Raising, raiseStep } from '@headset-cloud/rules/raised.ts';
import { cancelMessages } from '../domain/state.ts';
import { type CounterDocument, collections, type TransactionDocument } from './documents.ts';

/**
 * Advances the counters of a restored database (ADR 0035). New ids are above all ids ever given. The cancellation of
 * every unprocessed transaction is requested, because only its headset knows its state since the backup.
 */
export async function raiseTransactions({ store, nowMs, dryRun }: Raising): Promise<RaiseReport> {
  const counters = store.collection<CounterDocument>(collections.counters);
  const transactions = store.collection<TransactionDocument>(collections.transactions);
  const [counter, newest] = await Promise.all([
    counters.findOne({ _id: 'transactionId' }),
    transactions.findOne({}, { sort: { _id: -1 }, projection: { _id: 1 } }),
  ]);
  const highestId = Math.max(counter?.next ?? 0, newest?._id ?? 0);
  // The specification has a fixed list of messages. The message of the retry limit fits: the operation is not sent
  // again.
  const message = cancelMessages.retryLimit;
  const notRequested = { open: true as const, wish: { $exists: false } };
  const report = {
    highestId,
    raisedId: highestId + raiseStep,
    askedBack: await transactions.countDocuments(notRequested),
  };
  if (dryRun) return report;
  await counters.updateOne({ _id: 'transactionId' }, { $set: { next: report.raisedId } }, { upsert: true });
  await transactions.updateMany(notRequested, {
    $set: { wish: { message, at: new Date(nowMs) } },
  });
  return report;
}
