import { openTestBed, type TestBed } from '@headset-cloud/embedded/testing/bed.ts';
import type { Store, StoreCollection } from '@headset-cloud/store/types.ts';
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

/** Store of a process that dies after `most` operations of a bulk write. */
function cutAfter(most: number): Store {
  const cut = (collection: StoreCollection<TransactionDocument>): StoreCollection<TransactionDocument> =>
    new Proxy(collection, {
      get(target, name) {
        if (name !== 'bulkWrite') {
          const value = Reflect.get(target, name);
          return typeof value === 'function' ? value.bind(target) : value;
        }
        return async (...[operations, options]: Parameters<typeof target.bulkWrite>) => {
          if (most > 0) await target.bulkWrite(operations.slice(0, most), options);
          if (operations.length > most) throw new Error('killed');
          return undefined;
        };
      },
    });
  return {
    ...bed.store,
    collection: (name: string, ...rest: unknown[]) =>
      cut((bed.store.collection as (...all: unknown[]) => never).call(bed.store, name, ...rest)) as never,
  };
}

// ADR 0057
test('a transaction that its headset holds again is never both sent to the session and lost, even if the process dies', async () => {
  const seen = new Set<string>();
  for (let most = 0; most <= 3; most++) {
    const at = new Date(0);
    await transactions.insertOne({
      ...{
        _id: most + 1,
        deviceId: 'd',
        applicationId: 'a',
        operationId: 'op',
        subject: '',
        status: 'accepted',
      },
      ...{ open: true, activationEpoch: 1, operation: new Binary(new Uint8Array()), createdAt: at },
      ...{ updatedAt: at, attempts: 0, sentEpoch: 1, lostEpoch: 2, outboxSeq: 0 },
    });
    const store = createTransactionStore(cutAfter(most), {
      ...{ idBlock: 10, leftoverAfterMs: 1000, progressIntervalMs: 0 },
    });
    await store.markReconciled([{ id: most + 1, attempts: 1, found: true }], 3, 5).catch(() => {});
    const { sentEpoch, lostEpoch } = (await transactions.findOne({ _id: most + 1 })) ?? {};
    seen.add(`sent ${sentEpoch}, lost ${lostEpoch}`);
  }
  expect([...seen]).toEqual(['sent 1, lost 2', 'sent 3, lost undefined']);
});
