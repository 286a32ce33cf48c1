import type { Store, StoreCollection } from '@headset-cloud/store/types.ts';
import type { TransactionStore } from '../ports/transaction-store.ts';
import { createCancellations } from './cancellations.ts';
import { createApply, createChanges } from './changes.ts';
import { createDeviceCountersStore } from './device-counters.ts';
import { type CounterDocument, collections, type TransactionDocument } from './documents.ts';
import { createIdSource, createTransactionIds } from './ids.ts';
import { createInsert } from './insert.ts';
import { createOutboxStore } from './outbox.ts';
import { createProgressStore } from './progress.ts';
import { createQueries } from './queries.ts';
import { createReportable, createReportedStore } from './reported.ts';
import { createSessionMarks } from './session-marks.ts';
import { createStartGrants } from './start-grants.ts';

/** Implements the port with MongoDB's API, for both stacks (rule C5). */
export function createTransactionStore(
  store: Store,
  options: { idBlock: number; leftoverAfterMs: number; progressIntervalMs: number },
): TransactionStore {
  const transactions: StoreCollection<TransactionDocument> = store.collection(collections.transactions);
  // 'in-order' is sufficient for reports: the log keeps them, and their callbacks are published to the same log.
  const reported: StoreCollection<TransactionDocument> = store.collection(collections.transactions, {
    settle: 'in-order',
  });
  const ids = createIdSource(store.collection<CounterDocument>(collections.counters), options.idBlock);
  const counters = createDeviceCountersStore(store);
  const changes = createChanges(options.leftoverAfterMs);
  const apply = createApply(changes);
  const reportable = createReportable(counters);
  return {
    ...counters,
    ...createTransactionIds(ids, counters),
    ...createInsert(transactions, { changes }),
    ...createSessionMarks(transactions, reported),
    ...createStartGrants(transactions, { apply }),
    ...createReportedStore(reported, { apply, reportable }),
    ...createProgressStore(reported, { changes, reportable, intervalMs: options.progressIntervalMs }),
    ...createCancellations(transactions, { changes }),
    ...createQueries(transactions),
    ...createOutboxStore(transactions),
  };
}
