import { onEmbedded, openTestBed, type TestBed } from '@headset-cloud/embedded/testing/bed.ts';
import type { StoreCollection } from '@headset-cloud/store/types.ts';
import type { DeliveryDocument } from './documents.ts';
import { createForgetStore } from './forget.ts';
import { deliveriesCollection, notifierIndexes, probesCollection } from './indexes.ts';
import type { ProbesDocument } from './probes.ts';

const device = '350000000000001';
let bed: TestBed;
let deliveries: StoreCollection<DeliveryDocument>;
beforeEach(async () => {
  bed = openTestBed('notifier', { onMongo: true });
  deliveries = bed.store.collection<DeliveryDocument>(deliveriesCollection);
  await deliveries.createIndexes(notifierIndexes[deliveriesCollection] ?? []);
});
afterEach(() => bed.remove());

const store = (ids: readonly string[], more: Partial<DeliveryDocument> = {}) =>
  deliveries.insertMany(
    ids.map((_id) => ({
      ...{ _id, applicationId: 'app', destination: 'deviceEvent', orderKey: '', sequence: 0, order: 'none' },
      ...{ after: null, replaceable: false, body: Buffer.from('{}'), status: 'delivered', attempts: 1 },
      ...{ createdAtMs: 1, budgetFromMs: 1, nextAttemptAtMs: 1, dueAtMs: 1, owner: null, takenOver: false },
      ...{
        deliveredAtMs: 1,
        lastOutcome: '204',
        recentAttempts: [],
        traceparent: '',
        lane: 'app/deviceEvent',
      },
      ...more,
    })) as DeliveryDocument[],
  );
const left = async () => (await deliveries.find({}, { sort: { _id: 1 } }).toArray()).map(({ _id }) => _id);

test('the callbacks of one transaction are removed, not those of an id with the same beginning; pending ones and pending audit records stay', async () => {
  await store(['tx-12-accepted', 'tx-12-progress-7', 'tx-1-processed', 'tx-120-accepted', 'tx-12']);
  await store(['tx-12-processed'], { status: 'pending' });
  await store(['tx-12-answer'], { auditAtMs: 1 });
  const forgetting = createForgetStore(bed.store);
  expect(await forgetting.ofTransaction(12, true)).toEqual({ removed: 2, left: 2 });
  expect(await forgetting.ofTransaction(12, false)).toEqual({ removed: 2, left: 2 });
  expect(await left()).toEqual([
    'tx-1-processed',
    'tx-12',
    'tx-12-answer',
    'tx-12-processed',
    'tx-120-accepted',
  ]);
  await deliveries.updateMany({ status: 'pending' }, { $set: { status: 'dead' } });
  expect(await forgetting.ofTransaction(12, false)).toEqual({ removed: 1, left: 1 });
});

test('callbacks of headset reports are removed in batches, only of this device', async () => {
  await store(Array.from({ length: 45 }, (_, n) => `device-${device}-${n}`));
  await store([`device-${device}-session-1-connectivity_online`, 'device-350000000000002-1']);
  await store([`device-${device}-99`], { status: 'pending' });
  const forgetting = createForgetStore(bed.store);
  expect(await forgetting.reported(device, true)).toEqual({ removed: 46, left: 1, more: false });
  let removed = 0;
  for (let more = true; more; ) {
    const one = await forgetting.reported(device, false);
    removed += one.removed;
    more = one.more;
  }
  expect(removed).toBe(46);
  expect(await left()).toEqual([`device-${device}-99`, 'device-350000000000002-1']);
});

onEmbedded('deliveries are found by the index of their ids, and a call removes few of them', async () => {
  await store(Array.from({ length: 400 }, (_, n) => `tx-${1000 + n}-accepted`));
  await store(Array.from({ length: 100 }, (_, n) => `device-${device}-${n}`));
  const forgetting = createForgetStore(bed.store);
  const before = bed.documentsExamined();
  await forgetting.ofTransaction(1200, false);
  await forgetting.one('tx-1300-accepted', false);
  expect(bed.documentsExamined() - before).toBeLessThan(10);
  expect(await forgetting.reported(device, false)).toEqual({ removed: 20, left: 0, more: true });
  expect(bed.documentsExamined() - before).toBeLessThan(60);
});

test('an application’s callbacks are removed in batches, whatever their state, with its servers’ probes; those with pending audit records stay', async () => {
  const many = Array.from({ length: 45 }, (_, n) => `tx-${n}-accepted`);
  await store(many);
  await store(['pending'], { status: 'pending', owner: 'an instance', lane: 'app/soraEvent' });
  await store(['dead'], { status: 'dead', lane: 'app/fileUploadEvent' });
  await store(['with-audit'], { auditAtMs: 1 });
  await store(['another'], { applicationId: 'app-2', lane: 'app-2/deviceEvent' });
  const probes = bed.store.collection<ProbesDocument>(probesCollection);
  for (const _id of ['app https://a.example', 'app-2 https://a.example']) {
    await probes.insertOne({ _id, recent: [], expireAt: new Date(1) });
  }
  const forgetting = createForgetStore(bed.store);
  expect(await forgetting.countOfApplication('app')).toEqual({ removed: 48, left: 0, pending: 1 });
  let removed = 0;
  for (let more = true; more; ) {
    const one = await forgetting.ofApplication('app');
    removed += one.removed;
    more = one.more;
    if (!more) expect(one).toMatchObject({ left: 1, probes: 1 });
  }
  expect([removed, await left()]).toEqual([47, ['another', 'with-audit']]);
  expect(await probes.countDocuments({})).toBe(1);
});

onEmbedded('they are found by the index of their lanes', async () => {
  await store(
    Array.from({ length: 400 }, (_, n) => `tx-${n}-accepted`),
    { applicationId: 'other', lane: 'other/deviceEvent' },
  );
  await store(['tx-1000-accepted']);
  const before = bed.documentsExamined();
  expect(await createForgetStore(bed.store).ofApplication('app')).toMatchObject({ removed: 1 });
  expect(bed.documentsExamined() - before).toBeLessThan(10);
});
