import { openTestBed, type TestBed } from '@headset-cloud/embedded/testing/bed.ts';
import type { StoreCollection } from '@headset-cloud/store/types.ts';
import { Binary } from 'mongodb';
import { collections, type TransactionDocument } from './documents.ts';
import { createTransactionStore } from './store.ts';

let bed: TestBed;
let transactions: StoreCollection<TransactionDocument>;
beforeEach(() => {
  bed = openTestBed('transactions', { onMongo: true });
  transactions = bed.store.collection(collections.transactions);
});
afterEach(() => bed.remove());

test('a late reconciliation of an older session changes nothing that a newer session has written', async () => {
  const at = new Date(0);
  await transactions.insertOne({
    ...{ _id: 1, deviceId: 'd', applicationId: 'a', operationId: 'op', subject: '', status: 'accepted' },
    ...{ open: true, activationEpoch: 1, operation: new Binary(new Uint8Array()), createdAt: at },
    ...{ updatedAt: at, attempts: 1, sentEpoch: 4, outboxSeq: 0 },
  });
  const store = createTransactionStore(bed.store, {
    ...{ idBlock: 10, leftoverAfterMs: 1000, progressIntervalMs: 0 },
  });
  const read = () => transactions.findOne({ _id: 1 });
  await store.markReconciled([{ id: 1, attempts: 3, countedAtMs: 700, countedAdvance: 2 }], 7, 700);
  await store.markLost([1], 8);
  const written = await read();
  expect(written).toMatchObject({ attempts: 3, sentEpoch: 7, lostEpoch: 8 });
  // Session 5 read the transaction before session 6 and session 7 began.
  const late = { id: 1, attempts: 2, countedAtMs: 500, countedAdvance: 1, cancelRequested: 'newer' };
  await store.markReconciled([late], 5, 500);
  expect(await read()).toEqual(written);
  // A repeated reconciliation of the newest session still counts.
  await store.markReconciled([{ id: 1, attempts: 4 }], 7, 800);
  expect(await read()).toMatchObject({ attempts: 4, sentEpoch: 7 });
});
