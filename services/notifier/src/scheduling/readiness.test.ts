import { createLogger } from '@headset-cloud/runtime/logger.ts';
import { createFakeTime, type FakeTime } from '@headset-cloud/runtime/testing/fake-time.ts';
import { createStepRunner } from '@headset-cloud/store/schema/runner.ts';
import type { Delivery } from '../domain/delivery.ts';
import { MongoDeliveryStore } from '../store/deliveries.ts';
import { notifierSteps } from '../store/steps.ts';
import { openWorld, type World } from '../testing/world.ts';
import { ChangeWriter } from './change-writer.ts';
import { DeliveryRecords } from './delivery-records.ts';
import { FinishedOrders } from './finished-orders.ts';
import { ReadinessCheck } from './readiness.ts';

// Two instances, a and b, on one database. The tests show that the order holds when one of them is stopped for a while,
// or when events of an order key arrive at both.
const leaseMs = 10_000;
const dayMs = 86_400_000;
const lane = 'a-1/deviceEvent';
const logger = createLogger({ service: 'notifier', level: 'silent' });
let world: World;
let time: FakeTime;
let a: ReturnType<typeof instance>;
let b: ReturnType<typeof instance>;

beforeEach(async () => {
  world = await openWorld();
  // Not in the past, because the store removes expired documents.
  time = createFakeTime(Date.now());
  await createStepRunner({ store: world.store, steps: notifierSteps, logger, holder: 'test' }).attempt();
  a = instance('a');
  b = instance('b');
});
afterEach(async () => {
  await a.writer.flush(1000);
  await world.close();
});

function instance(instanceId: string) {
  const store = new MongoDeliveryStore(world.store, instanceId, { deliveredMs: dayMs, deadMs: dayMs }, time);
  // With the machine's timers, because its writes need no time to pass.
  const writer = new ChangeWriter(store, logger);
  const finished = new FinishedOrders();
  const records = new DeliveryRecords({ time, instanceId, leaseMs, writer });
  const readiness = new ReadinessCheck({ time, store, writer, finished, records, leaseMs });
  return { store, writer, readiness, finished, records };
}

function delivery(id: string, more: Partial<Delivery> = {}): Delivery {
  const now = time.now();
  return {
    id,
    applicationId: 'a-1',
    destination: 'deviceEvent',
    orderKey: 't-1',
    sequence: 1,
    order: 'ended',
    after: null,
    replaceable: false,
    body: Buffer.from('{}'),
    status: 'pending',
    attempts: 0,
    createdAtMs: now,
    budgetFromMs: now,
    nextAttemptAtMs: now,
    dueAtMs: now,
    owner: null,
    takenOver: false,
    deliveredAtMs: 0,
    lastOutcome: '',
    recentAttempts: [],
    traceparent: '',
    ...more,
  };
}

const lapsed = () => ({ owner: 'a', dueAtMs: time.now() - 1 });
const owned = (owner: string) => ({ owner, dueAtMs: time.now() + leaseMs });
const entry = (d: Delivery) => ({
  delivery: d,
  orderWaitUntilMs: time.monotonicNow() + 60_000,
});
const claimAll = (of: typeof a) => of.store.claim(lane, 100, time.now(), time.now() + leaseMs);

test('a due delivery is claimed by exactly one instance, and by none while its lease lasts', async () => {
  await a.store.insert(Array.from({ length: 50 }, (_, i) => delivery(`n-${i}`, { orderKey: `t-${i}` })));
  const claims = await Promise.all([claimAll(a), claimAll(b), claimAll(a)]);
  expect(claims.reduce((sum, { claimed }) => sum + claimed.length, 0)).toBe(50);
  const { claimed } = await claimAll(b);
  expect(claimed).toEqual([]);
});

test('claimed deliveries are ordered by due time, with their bodies unchanged', async () => {
  const now = time.now();
  const body = Buffer.from([0, 255, 10, 228]);
  await a.store.insert([
    delivery('later', { orderKey: '', dueAtMs: now - 1, body }),
    delivery('first', { orderKey: '', dueAtMs: now - 2 }),
    delivery('not yet', { orderKey: '', dueAtMs: now + 60_000 }),
  ]);
  const { claimed } = await claimAll(b);
  expect(claimed.map((d) => d.id)).toEqual(['first', 'later']);
  expect(claimed[1]?.body).toEqual(body);
});

test('an instance that was stopped for longer than its lease notices the takeover before it sends', async () => {
  const stopped = delivery('n-1', lapsed());
  await a.store.insert([stopped]);
  expect((await claimAll(b)).claimed.map((d) => [d.id, d.takenOver])).toEqual([['n-1', true]]);
  expect(await a.readiness.of(entry(stopped))).toEqual({ kind: 'lost' });
});

test('an instance with an expired lease and without a takeover renews it and continues', async () => {
  const stopped = delivery('n-1', lapsed());
  await a.store.insert([stopped]);
  const mine = entry(stopped);
  expect(await a.readiness.of(mine)).toEqual({ kind: 'ready' });
  expect(mine.delivery.dueAtMs).toBeGreaterThan(time.now());
  expect((await claimAll(b)).claimed).toEqual([]);
});

test('a later one waits while another instance has the earlier one, and is ready when it has ended', async () => {
  const second = delivery('n-2', { sequence: 2, ...owned('b') });
  await a.store.insert([delivery('n-1', owned('a')), second]);
  expect(await b.readiness.of(entry(second))).toMatchObject({ kind: 'blocked' });
  await a.store.apply([
    { id: 'n-1', change: { status: 'delivered', owner: null, dueAtMs: 0 }, onlyIfOwner: 'a' },
  ]);
  expect(await b.readiness.of(entry(second))).toEqual({ kind: 'ready' });
});

test('a later one waits for an earlier one until the planned time of that one', async () => {
  const dueAtMs = time.now() + 20_000;
  const second = delivery('n-2', { sequence: 2, ...owned('b') });
  await a.store.insert([delivery('n-1', { dueAtMs }), second]);
  expect(await b.readiness.of(entry(second))).toEqual({ kind: 'blocked', untilMs: dueAtMs });
});

test('an earlier progress without an owner is replaced by a later one', async () => {
  const second = delivery('n-2', { sequence: 2, ...owned('b') });
  await a.store.insert([delivery('p-1', { replaceable: true, dueAtMs: time.now() + 60_000 }), second]);
  expect(await b.readiness.of(entry(second))).toEqual({ kind: 'ready' });
  expect((await a.store.get('p-1'))?.status).toBe('replaced');
});

test.each([
  ['that another instance works on', { owner: 'a' }],
  ['whose owner may be stopped in the middle of sending it', { takenOver: true }],
])('an earlier progress %s is not replaced: it is sent first', async (_, more) => {
  const second = delivery('n-2', { sequence: 2, ...owned('b') });
  await a.store.insert([delivery('p-1', { replaceable: true, ...more }), second]);
  expect(await b.readiness.of(entry(second))).toMatchObject({ kind: 'blocked' });
  expect((await a.store.get('p-1'))?.status).toBe('pending');
});

test('a callback that an operator sent again neither waits for others nor delays them', async () => {
  const again = delivery('n-1', { order: 'none', ...owned('a') });
  const second = delivery('n-2', { sequence: 2, ...owned('b') });
  await a.store.insert([again, second, delivery('n-0', { sequence: 0, orderKey: 't-2' })]);
  expect(await b.readiness.of(entry(second))).toEqual({ kind: 'ready' });
  expect(await a.readiness.of(entry({ ...again, sequence: 3 }))).toEqual({ kind: 'ready' });
});

const report = (id: string, n: number, more: Partial<Delivery> = {}) =>
  delivery(id, { order: 'tried', sequence: n, ...more });

test('a report waits while another instance has an earlier untried one, and is ready after its first attempt', async () => {
  const second = report('n-2', 20, owned('b'));
  await a.store.insert([report('n-1', 10, owned('a')), second]);
  expect(await b.readiness.of(entry(second))).toMatchObject({ kind: 'blocked' });
  await a.store.apply([{ id: 'n-1', change: { order: 'none', attempts: 1 }, onlyIfOwner: 'a' }]);
  expect(await b.readiness.of(entry(second))).toEqual({ kind: 'ready' });
});

test('the first attempt of an earlier report counts before it is stored', async () => {
  const second = report('n-2', 20, owned('a'));
  await a.store.insert([report('n-1', 10, owned('a')), second]);
  a.writer.add({ id: 'n-1', change: { order: 'none', attempts: 1 }, onlyIfOwner: 'a' });
  expect(await a.readiness.of(entry(second))).toEqual({ kind: 'ready' });
});

test('a report waits for the first attempt of an earlier one no longer than its maximum wait', async () => {
  const second = report('n-2', 20, owned('b'));
  await a.store.insert([report('n-1', 10, { dueAtMs: time.now() + 20_000 }), second]);
  const orderWaitUntilMs = time.monotonicNow() + 5000;
  const readiness = await b.readiness.of({ ...entry(second), orderWaitUntilMs });
  expect(readiness).toEqual({ kind: 'blocked', untilMs: time.now() + 5000 });
  await time.advance(4999);
  expect(await b.readiness.of({ ...entry(second), orderWaitUntilMs })).toMatchObject({ kind: 'blocked' });
  await time.advance(1);
  expect(await b.readiness.of({ ...entry(second), orderWaitUntilMs })).toEqual({ kind: 'ready' });
});

test('if the previous report is known and was tried, the database is not asked', async () => {
  const second = report('n-2', 20, { ...owned('a'), after: 10 });
  await a.store.insert([second]);
  let asked = 0;
  const { predecessors } = a.store;
  a.store.predecessors = (...query) => {
    asked++;
    return predecessors.apply(a.store, query);
  };
  a.finished.set('t-1', 10);
  expect(await a.readiness.of(entry(second))).toEqual({ kind: 'ready' });
  expect(asked).toBe(0);
  expect(await a.readiness.of(entry({ ...second, sequence: 30, after: null }))).toEqual({
    kind: 'blocked',
    untilMs: expect.any(Number),
  });
  expect(asked).toBe(1);
});

test('tried reports with unstored attempts hide no untried report, whatever their number', async () => {
  const many = Array.from({ length: 120 }, (_, n) => report(`n-${n}`, 10 + n, owned('a')));
  await a.store.insert([report('untried', 5, owned('b')), ...many]);
  const apply = Promise.withResolvers<ReadonlySet<string>>();
  a.store.apply = () => apply.promise;
  for (const { id } of many) a.writer.add({ id, change: { order: 'none' }, onlyIfOwner: 'a' });
  const last = report('last', 500, owned('a'));
  await a.store.insert([last]);
  expect(await a.readiness.of(entry(last))).toEqual({ kind: 'blocked', untilMs: expect.any(Number) });
  await a.store.insert([report('near', 400, owned('b'))]);
  expect(await a.readiness.of(entry(last))).toEqual({ kind: 'blocked', untilMs: expect.any(Number) });
  apply.resolve(new Set());
});

test('replaced progress hides nothing before it, whatever its number', async () => {
  const progresses = Array.from({ length: 60 }, (_, n) =>
    delivery(`p-${n}`, { sequence: 2 + n, replaceable: true }),
  );
  const end = delivery('end', { sequence: 100, ...owned('a') });
  await a.store.insert([delivery('accepted', { sequence: 1, ...owned('b') }), ...progresses, end]);
  expect(await a.readiness.of(entry(end))).toEqual({ kind: 'blocked', untilMs: expect.any(Number) });
  expect((await a.store.get('p-0'))?.status).toBe('replaced');
  await b.store.apply([{ id: 'accepted', change: { status: 'delivered', dueAtMs: 1 }, onlyIfOwner: 'b' }]);
  expect(await a.readiness.of(entry(end))).toEqual({ kind: 'ready' });
});

test('a progress is overtaken by any later stored event; after a takeover only by a finished one', async () => {
  const late = delivery('p-1', { ...owned('a'), sequence: 2, replaceable: true });
  const other = delivery('p-2', { ...owned('a'), orderKey: 't-2', sequence: 2, replaceable: true });
  await a.store.insert([late, other, delivery('end', { ...owned('b'), sequence: 3 })]);
  const takenOver = { ...late, takenOver: true };
  expect(await a.readiness.of(entry(other))).toEqual({ kind: 'ready' });
  expect(await a.readiness.of(entry(late))).toEqual({ kind: 'overtaken' });
  expect(await a.readiness.of(entry(takenOver))).toEqual({ kind: 'ready' });
  await a.store.apply([{ id: 'end', change: { status: 'delivered', dueAtMs: 1 }, onlyIfOwner: undefined }]);
  expect(await a.readiness.of(entry(takenOver))).toEqual({ kind: 'overtaken' });
});

test('a late failure does not change a delivery that another instance has taken', async () => {
  await a.store.insert([delivery('n-1', lapsed())]);
  await claimAll(b);
  await a.store.apply([{ id: 'n-1', change: { owner: null, attempts: 9, dueAtMs: 0 }, onlyIfOwner: 'a' }]);
  expect(await b.store.get('n-1')).toMatchObject({ owner: 'b', attempts: 0 });
  // A success is stored, whatever instance owns the delivery now.
  await a.store.apply([{ id: 'n-1', change: { status: 'delivered', dueAtMs: 1 }, onlyIfOwner: undefined }]);
  expect((await b.store.get('n-1'))?.status).toBe('delivered');
});

test('an outcome without a delivery counts for the order only when it is stored', async () => {
  const last = delivery('n-3', { sequence: 3, ...owned('a') });
  await a.store.insert([
    delivery('p-1', { replaceable: true, ...owned('a') }),
    delivery('n-2', { sequence: 2, ...owned('a') }),
    last,
  ]);
  for (const [id, status] of [
    ['p-1', 'replaced'],
    ['n-2', 'dead'],
  ] as const) {
    a.writer.add({ id, change: { status, owner: null, dueAtMs: 0 }, onlyIfOwner: 'a' });
  }
  expect(await a.readiness.of(entry(last))).toEqual({ kind: 'ready' });
  expect((await a.store.get('p-1'))?.status).toBe('replaced');
  expect((await a.store.get('n-2'))?.status).toBe('dead');
});

test('a later one waits if another instance has taken over the one that ended here', async () => {
  const second = delivery('n-2', { sequence: 2, ...owned('a') });
  await a.store.insert([delivery('p-1', { replaceable: true, ...lapsed() }), second]);
  await claimAll(b);
  a.writer.add({ id: 'p-1', change: { status: 'replaced', owner: null, dueAtMs: 0 }, onlyIfOwner: 'a' });
  expect(await a.readiness.of(entry(second))).toMatchObject({ kind: 'blocked' });
  expect((await a.store.get('p-1'))?.status).toBe('pending');
});

test('a delivery that is not stored yet counts for the order', async () => {
  const second = delivery('n-2', { sequence: 2, ...owned('a') });
  await a.store.insert([delivery('n-1', owned('a')), second]);
  a.writer.add({
    id: 'n-1',
    change: { status: 'delivered', owner: null, dueAtMs: 0 },
    onlyIfOwner: undefined,
  });
  expect(await a.readiness.of(entry(second))).toEqual({ kind: 'ready' });
});
