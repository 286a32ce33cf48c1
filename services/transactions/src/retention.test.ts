import { onEmbedded, openTestBed, type TestBed } from '@headset-cloud/embedded/testing/bed.ts';
import { type RetentionDocument, retentionCollection } from '@headset-cloud/rules/retention/documents.ts';
import { createRetention, type Retention } from '@headset-cloud/rules/retention/keeper.ts';
import type { KeptKind } from '@headset-cloud/rules/retention/kinds.ts';
import { waitFor } from '@headset-cloud/runtime/testing/wait.ts';
import type { StoreCollection } from '@headset-cloud/store/types.ts';
import { Binary } from 'mongodb';
import { Registry } from 'prom-client';
import { collections, retentionIndexes, type TransactionDocument } from './store/documents.ts';
import { endedTransactions } from './store/retention.ts';

const now = Date.UTC(2026, 0, 1);
const keepMs = 1000;
const longAgo = new Date(now - 2 * keepMs);
const config = { RETENTION_PER_SECOND: 100_000, RETENTION_INTERVAL_MS: 50 };
let bed: TestBed;
let transactions: StoreCollection<TransactionDocument>;
let states: StoreCollection<RetentionDocument>;
let kind: KeptKind<number>;
const running: Retention[] = [];

beforeEach(async () => {
  bed = openTestBed('transactions', { onMongo: true });
  transactions = bed.store.collection(collections.transactions);
  states = bed.store.collection(retentionCollection);
  await transactions.createIndexes(retentionIndexes[collections.transactions] ?? []);
  kind = endedTransactions(bed.store, keepMs);
});
afterEach(async () => {
  for (const one of running.splice(0)) await one.stop();
  await bed.remove();
});

function keeper(of: KeptKind<number> = kind, metrics = new Registry()): Retention {
  const { store, logger } = bed;
  const clock = { now: () => now };
  const made = createRetention({ store, kinds: [of], config, clock, logger, metrics, batchSize: 20 });
  running.push(made);
  return made;
}

async function store(first: number, count: number, more: Partial<TransactionDocument> = {}): Promise<void> {
  const end = { success: true, message: '', at: longAgo };
  const blank: TransactionDocument = {
    ...{ _id: 0, deviceId: '350000000000001', applicationId: 'app', operationId: 'op', subject: '' },
    ...{ status: 'processed', activationEpoch: 1, operation: new Binary(new Uint8Array()) },
    ...{ createdAt: longAgo, updatedAt: longAgo, attempts: 0, sentEpoch: 0, outboxSeq: 1, end },
  };
  await transactions.insertMany(
    Array.from({ length: count }, (_, n) => ({ ...blank, ...more, _id: first + n })),
  );
}

const left = async () =>
  (await transactions.find({}, { sort: { _id: 1 }, projection: { _id: 1 } }).toArray()).map(({ _id }) => _id);
const completed = () =>
  waitFor(
    'a complete run',
    async () => (await states.findOne({ _id: kind.kind }))?.completedAtMs !== undefined,
  );

test('only transactions that ended long ago without pending callbacks are deleted', async () => {
  await store(1, 1, { status: 'accepted', open: true, end: undefined as never });
  await transactions.updateOne({ _id: 1 }, { $unset: { end: true } });
  await store(2, 1, { end: { success: true, message: '', at: new Date(now - keepMs) } });
  await store(3, 1, { dueAt: longAgo });
  await store(4, 1, { outbox: [] });
  const progress = {
    reportId: 1,
    value: 1,
    message: '',
    atMs: 0,
    latestAtMs: 0,
    best: 1,
    count: 1,
    owedAtMs: 0,
  };
  await store(5, 1, { progress: { ...progress, owed: true } });
  await store(6, 1, { progress });
  await store(7, 1, { status: 'canceled' });
  const retention = keeper();
  expect(await retention.completeFromMs(kind.kind)).toBeUndefined();
  retention.start();
  await completed();
  expect(await left()).toEqual([1, 2, 3, 4, 5]);
  expect(await retention.completeFromMs(kind.kind)).toBe(now - keepMs);
});

test('a list is complete while nothing was deleted', async () => {
  await store(1, 3, { end: { success: true, message: '', at: new Date(now) } });
  const retention = keeper();
  retention.start();
  await completed();
  expect(await retention.completeFromMs(kind.kind)).toBeUndefined();
});

test('the time from which a list is complete is stored before the first deletion, and never decreases', async () => {
  await store(1, 1);
  await states.insertOne({ _id: kind.kind, dueAtMs: 0, completeFromMs: now });
  let completeFromMs: number | undefined;
  const retention = keeper({
    ...kind,
    async remove(ids, beforeMs) {
      completeFromMs = (await states.findOne({ _id: kind.kind }))?.completeFromMs;
      return kind.remove(ids, beforeMs);
    },
  });
  retention.start();
  await completed();
  expect(completeFromMs).toBe(now);
  expect(await retention.completeFromMs(kind.kind)).toBe(now);
});

test('a run that dies in the middle is continued by another instance', async () => {
  await store(1, 100);
  let batches = 0;
  const dying = keeper({
    ...kind,
    async remove(ids, beforeMs) {
      batches += 1;
      if (batches === 3) return new Promise(() => {});
      return kind.remove(ids, beforeMs);
    },
  });
  running.pop();
  dying.start();
  await waitFor('two batches', async () => batches === 3);
  expect(await left()).toHaveLength(60);
  // Its lease expires.
  await states.updateOne({ _id: kind.kind }, { $set: { dueAtMs: 0 } });
  keeper().start();
  await completed();
  expect(await left()).toEqual([]);
});

test('a claim by a clock that was far ahead does not stop the deletion', async () => {
  await store(1, 1);
  await states.insertOne({ _id: kind.kind, dueAtMs: now + 365 * 86_400_000, holder: 'gone' });
  keeper().start();
  await completed();
  expect(await left()).toEqual([]);
});

test('several instances delete each transaction once, one instance at a time', async () => {
  await store(1, 200);
  let atOnce = 0;
  let most = 0;
  const counting: KeptKind<number> = {
    ...kind,
    async remove(ids, beforeMs) {
      atOnce += 1;
      most = Math.max(most, atOnce);
      const gone = await kind.remove(ids, beforeMs);
      atOnce -= 1;
      return gone;
    },
  };
  const registries = [1, 2, 3].map(() => new Registry());
  for (const registry of registries) keeper(counting, registry).start();
  await waitFor('the end', async () => (await left()).length === 0);
  await completed();
  expect(most).toBe(1);
  const counts = registries.map(async (registry) => {
    const metric = await registry.getSingleMetric('headset_retention_deleted_total')?.get();
    return metric?.values[0]?.value ?? 0;
  });
  expect((await Promise.all(counts)).reduce((sum, n) => sum + n)).toBe(200);
});

test('two concurrent runs delete only expired transactions, each once', async () => {
  await store(1, 40);
  const ids = await kind.find(now - keepMs, 40);
  await transactions.updateOne({ _id: 40 }, { $set: { dueAt: longAgo } });
  const gone = await Promise.all([kind.remove(ids, now - keepMs), kind.remove(ids, now - keepMs)]);
  expect(gone[0] + gone[1]).toBe(39);
  expect(await left()).toEqual([40]);
});

onEmbedded('a batch is found by the index, without reading other transactions', async () => {
  await store(1, 300, { end: { success: true, message: '', at: new Date(now) } });
  await store(1001, 20);
  const before = bed.documentsExamined();
  expect(await kind.find(now - keepMs, 20)).toHaveLength(20);
  await kind.oldestMs();
  expect(bed.documentsExamined() - before).toBeLessThanOrEqual(21);
});
