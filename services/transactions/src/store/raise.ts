import { type RaiseReport, type Raising, raiseStep } from '@headset-cloud/rules/raised.ts';
import { cancelMessages } from '../domain/state.ts';
import { type CounterDocument, collections, type TransactionDocument } from './documents.ts';

/**
 * Raises the restored database (ADR 0035): ids begin above all that were ever given, and every unprocessed
 * operation is asked back from its headset, which alone knows what became of it since the backup.
 */
export async function raiseTransactions({ store, nowMs, dryRun }: Raising): Promise<RaiseReport> {
  const counters = store.collection<CounterDocument>(collections.counters);
  const transactions = store.collection<TransactionDocument>(collections.transactions);
  const [counter, newest] = await Promise.all([
    counters.findOne({ _id: 'transactionId' }),
    transactions.findOne({}, { sort: { _id: -1 }, projection: { _id: 1 } }),
  ]);
  const highestId = Math.max(counter?.next ?? 0, newest?._id ?? 0);
  // The specification's list of messages is closed; this one says what holds: it is not sent again.
  const message = cancelMessages.retryLimit;
  const unasked = { open: true as const, wish: { $exists: false } };
  const report = {
    highestId,
    raisedId: highestId + raiseStep,
    askedBack: await transactions.countDocuments(unasked),
  };
  if (dryRun) return report;
  await counters.updateOne({ _id: 'transactionId' }, { $set: { next: report.raisedId } }, { upsert: true });
  await transactions.updateMany(unasked, {
    $set: { wish: { message, at: new Date(nowMs) } },
  });
  return report;
}
