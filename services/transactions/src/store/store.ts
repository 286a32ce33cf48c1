import type { Store, StoreCollection } from '@headset-cloud/store/types.ts';
import type { TransactionStore } from '../ports/transaction-store.ts';
import { createCancellations } from './cancellations.ts';
import { createApply, createChanges } from './changes.ts';
import { createDeliveryMarks } from './delivery-marks.ts';
import { type CounterDocument, collections, type TransactionDocument } from './documents.ts';
import { createHeadStore } from './heads.ts';
import { createIdSource, createTransactionIds } from './ids.ts';
import { createInsert } from './insert.ts';
import { createOutboxStore } from './outbox.ts';
import { createPermits } from './permits.ts';
import { createProgressStore } from './progress.ts';
import { createQueries } from './queries.ts';
import { createReportable, createReportedStore } from './reported.ts';

/** The port on MongoDB's API; the same code on both stacks (rule C5). */
export function createTransactionStore(
  store: Store,
  options: { idBlock: number; leftoverAfterMs: number; progressIntervalMs: number },
): TransactionStore {
  const transactions: StoreCollection<TransactionDocument> = store.collection(collections.transactions);
  // 'in-order' suffices for reports of headsets: the log keeps the reports, and their callbacks go through the log again.
  const reported: StoreCollection<TransactionDocument> = store.collection(collections.transactions, {
    settle: 'in-order',
  });
  const ids = createIdSource(store.collection<CounterDocument>(collections.counters), options.idBlock);
  const heads = createHeadStore(store);
  const changes = createChanges(options.leftoverAfterMs);
  const apply = createApply(changes);
  const reportable = createReportable(heads);
  return {
    ...heads,
    ...createTransactionIds(ids, heads),
    ...createInsert(transactions, { changes }),
    ...createDeliveryMarks(transactions, reported),
    ...createPermits(transactions, { apply }),
    ...createReportedStore(reported, { apply, reportable }),
    ...createProgressStore(reported, { changes, reportable, intervalMs: options.progressIntervalMs }),
    ...createCancellations(transactions, { changes }),
    ...createQueries(transactions),
    ...createOutboxStore(transactions),
  };
}
