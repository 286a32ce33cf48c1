import { onEmbedded, openTestBed, type TestBed } from '@headset-cloud/embedded/testing/bed.ts';
import type { StoreCollection } from '@headset-cloud/store/types.ts';
import { Binary } from 'mongodb';
import { collections, type TransactionDocument, transactionsIndexes } from './documents.ts';
import { createForgetStore } from './forget.ts';

const device = '350000000000001';
const another = '350000000000002';
let bed: TestBed;
let transactions: StoreCollection<TransactionDocument>;
beforeEach(async () => {
  bed = openTestBed('transactions', { onMongo: true });
  transactions = bed.store.collection(collections.transactions);
  await transactions.createIndexes(transactionsIndexes[collections.transactions] ?? []);
});
afterEach(() => bed.remove());

const at = new Date(0);
async function store(ids: readonly number[], more: Partial<TransactionDocument> = {}): Promise<void> {
  await transactions.insertMany(
    ids.map((_id) => ({
      ...{ _id, deviceId: device, applicationId: 'app', operationId: 'op', subject: '', status: 'processed' },
      ...{ activationEpoch: 1, operation: new Binary(new Uint8Array()), createdAt: at, updatedAt: at },
      ...{ attempts: 0, sentEpoch: 0, outboxSeq: 1, end: { success: true, message: '', at } },
      ...more,
    })) as TransactionDocument[],
  );
}
const range = (from: number, count: number) => Array.from({ length: count }, (_, n) => from + n);
async function pages() {
  const forgetting = createForgetStore(bed.store);
  const all = { settled: [] as number[], open: [] as number[], pending: 0, calls: 0 };
  let after = '';
  do {
    const page = await forgetting.page(device, after);
    all.settled.push(...page.settled);
    all.open.push(...page.open);
    all.pending += page.pending;
    all.calls += 1;
    after = page.next;
  } while (after !== '');
  return all;
}

test('pages contain a device’s settled transactions of all applications, without open transactions and pending callbacks', async () => {
  await store(range(1, 45));
  await store(range(100, 3), { applicationId: 'other' });
  await store(range(200, 2), { deviceId: another });
  await store([300], { open: true, status: 'published' });
  await store([301], { dueAt: at });
  await store([302], { outbox: [] });
  const found = await pages();
  expect(found.settled.sort((a, b) => a - b)).toEqual([...range(1, 45), ...range(100, 3)]);
  expect([found.open, found.pending]).toEqual([[300], 2]);
});

test('only settled transactions of the device are removed, and each once', async () => {
  await store([1, 2]);
  await store([3], { deviceId: another });
  await store([4], { open: true, status: 'accepted' });
  await store([5], { dueAt: at });
  const forgetting = createForgetStore(bed.store);
  expect(await forgetting.remove(device, [1, 3, 4, 5])).toBe(1);
  expect(await forgetting.remove(device, [1, 3, 4, 5])).toBe(0);
  const left = await transactions.find({}, { sort: { _id: 1 } }).toArray();
  expect(left.map(({ _id }) => _id)).toEqual([2, 3, 4, 5]);
});

onEmbedded(
  'they are found by an index, in pages, without reading the transactions of other devices',
  async () => {
    await store(range(1, 500), { deviceId: another });
    await store(range(1001, 500), { deviceId: another, applicationId: 'other' });
    await store(range(2001, 50));
    const before = bed.documentsExamined();
    const found = await pages();
    expect(found.settled).toEqual(range(2001, 50));
    expect(found.calls).toBeGreaterThan(2);
    expect(bed.documentsExamined() - before).toBeLessThan(80);
  },
);

test('an application’s settled transactions of all devices are removed page by page; others stay', async () => {
  await store(range(1, 45));
  await store(range(100, 3), { deviceId: another });
  await store(range(200, 2), { applicationId: 'other' });
  await store([300], { open: true, status: 'published' });
  await store([301], { dueAt: at });
  const forgetting = createForgetStore(bed.store);
  const all = { open: [] as number[], pending: 0, removed: 0 };
  for (let after = 0, more = true; more; more = after !== 0) {
    const page = await forgetting.pageOfApplication('app', after);
    all.open.push(...page.open);
    all.pending += page.pending;
    all.removed += await forgetting.removeOfApplication('app', [...page.settled, 200]);
    after = page.next;
  }
  expect(all).toEqual({ open: [300], pending: 1, removed: 48 });
  const left = await transactions.find({}, { sort: { _id: 1 } }).toArray();
  expect(left.map(({ _id }) => _id)).toEqual([200, 201, 300, 301]);
});
