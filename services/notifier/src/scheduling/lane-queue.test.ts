import { createFakeTime, type FakeTime } from '@headset-cloud/runtime/testing/fake-time.ts';
import type { Delivery } from '../domain/delivery.ts';
import type { TryOutcome } from '../domain/next-step.ts';
import type { ConditionalChange } from '../ports/delivery-store.ts';
import { DeliveryRecords } from './delivery-records.ts';
import { FinishedOrders } from './finished-orders.ts';
import { type Changed, LaneQueue, type Taken } from './lane-queue.ts';

const now = 1_700_000_000_000;
let time: FakeTime;
let stored: ConditionalChange[];
let finished: FinishedOrders;
let queue: LaneQueue;
let records: DeliveryRecords;

beforeEach(() => {
  time = createFakeTime(now);
  stored = [];
  finished = new FinishedOrders();
  queue = new LaneQueue(time, finished);
  const add = async (change: ConditionalChange) => {
    stored.push(change);
    return 'stored' as const;
  };
  const writer = { add, endOf: () => undefined };
  records = new DeliveryRecords({ time, instanceId: 'i-1', leaseMs: 10_000, writer });
});

const store = (changes: Changed[]) => {
  for (const { delivery, change } of changes) records.change(delivery, change);
};

function add(id: string, more: Partial<Delivery> = {}): void {
  const sequence = Number(id.slice(2));
  const delivery = {
    id,
    orderKey: 'k',
    sequence,
    order: 'ended',
    body: Buffer.from('{}'),
    nextAttemptAtMs: now - 5,
    dueAtMs: now + 9000,
  };
  const changes = queue.add({
    delivery: {
      replaceable: false,
      takenOver: false,
      lastOutcome: '',
      after: null,
      ...delivery,
      ...more,
    } as Delivery,
    orderWaitUntilMs: Number.POSITIVE_INFINITY,
  });
  store(changes);
}
const take = () => queue.take() as Taken;
const afterTry = (taken: Taken, outcome: TryOutcome, lane = { crowded: false, stopping: false }) =>
  store(queue.afterTry(taken, outcome, lane));
const failed = (pauseMs: number): TryOutcome => ({
  kind: 'attempted',
  change: { status: 'pending', attempts: 1, nextAttemptAtMs: now + pauseMs },
});
const delivered: TryOutcome = {
  kind: 'attempted',
  change: { status: 'delivered', owner: null, dueAtMs: now },
};
const left = () => [...queue.entries()].map(({ delivery }) => delivery.id);

test('the next delivery of an order key is taken only when the previous one has ended', () => {
  add('n-1');
  add('n-2');
  const first = take();
  expect(queue.take()).toBeUndefined();
  afterTry(first, delivered);
  expect(stored).toEqual([
    { id: 'n-1', change: expect.objectContaining({ status: 'delivered' }), onlyIfOwner: undefined },
  ]);
  expect(take().entry.delivery.id).toBe('n-2');
  expect(finished.knows({ orderKey: 'k', sequence: 2, after: null })).toBe(true);
});

test('a failed delivery makes its chain wait, and its attempt is stored only while this instance owns it', () => {
  add('n-1');
  add('n-2');
  afterTry(take(), failed(1000));
  expect(queue.readyCount).toBe(0);
  expect(stored).toEqual([
    { id: 'n-1', change: expect.objectContaining({ attempts: 1 }), onlyIfOwner: 'i-1' },
  ]);
  queue.wakeAll();
  expect(take().entry.delivery).toMatchObject({ id: 'n-1', attempts: 1 });
});

test('during a long pause the whole chain is in the database, each delivery without an owner', () => {
  add('n-1');
  add('n-2');
  afterTry(take(), failed(60_000));
  expect(left()).toEqual([]);
  const released = { owner: null, dueAtMs: now + 60_000 };
  expect(stored).toEqual([
    { id: 'n-1', change: expect.objectContaining({ ...released, attempts: 1 }), onlyIfOwner: 'i-1' },
    { id: 'n-2', change: released, onlyIfOwner: 'i-1' },
  ]);
});

test('a failed report is retried on its own, and the next report of its device can be taken at once', () => {
  add('n-1', { order: 'tried' });
  add('n-2', { order: 'tried' });
  const first = take();
  afterTry(first, failed(1000));
  expect(stored).toEqual([
    { id: 'n-1', change: expect.objectContaining({ order: 'none' }), onlyIfOwner: 'i-1' },
  ]);
  const second = take();
  expect(second.entry.delivery.id).toBe('n-2');
  expect(queue.size).toBe(2);
  afterTry(second, { kind: 'lost' });
  queue.wakeAll();
  expect(take().entry.delivery).toMatchObject({ id: 'n-1', order: 'none' });
});

test('a failed report with a long pause leaves alone: later reports stay', () => {
  add('n-1', { order: 'tried' });
  add('n-2', { order: 'tried' });
  afterTry(take(), failed(60_000));
  expect(left()).toEqual(['n-2']);
  expect(stored).toEqual([
    { id: 'n-1', change: expect.objectContaining({ order: 'none', owner: null }), onlyIfOwner: 'i-1' },
  ]);
});

test('an earlier event that arrives during the check of a later one is sent first', () => {
  add('n-2');
  const later = take();
  add('n-1');
  afterTry(later, { kind: 'blocked', untilMs: now + 1000 });
  expect(stored).toEqual([]);
  expect(take().entry.delivery.id).toBe('n-1');
});

test('a failed progress is replaced by a later event that arrived meanwhile', () => {
  add('n-1', { replaceable: true });
  const progress = take();
  add('n-2');
  expect(left()).toEqual(['n-1', 'n-2']);
  afterTry(progress, failed(1000));
  expect(stored).toMatchObject([
    { id: 'n-1', change: { status: 'replaced', attempts: 1 }, onlyIfOwner: 'i-1' },
  ]);
  expect(take().entry.delivery.id).toBe('n-2');
});

test('a delivery that another instance took is dropped, and later ones continue', () => {
  add('n-1');
  add('n-2');
  afterTry(take(), { kind: 'lost' });
  expect(stored).toEqual([]);
  expect(left()).toEqual(['n-2']);
  expect(queue.readyCount).toBe(1);
});

test('deliveries that a shutdown aborted are given back, each with its own due time', () => {
  add('n-1');
  add('n-2', { nextAttemptAtMs: now + 7 });
  afterTry(take(), { kind: 'aborted' }, { crowded: false, stopping: true });
  expect(left()).toEqual([]);
  expect(stored).toEqual([
    { id: 'n-1', change: { owner: null, dueAtMs: now - 5 }, onlyIfOwner: 'i-1' },
    { id: 'n-2', change: { owner: null, dueAtMs: now + 7 }, onlyIfOwner: 'i-1' },
  ]);
});

test('a chain is ready again when its time has come, and not before', async () => {
  add('n-1');
  add('i-2', { order: 'none' });
  afterTry(take(), failed(1000));
  afterTry(take(), failed(3000));
  expect(queue.wakeAtMs).toBe(time.monotonicNow() + 1000);
  await time.advance(999);
  queue.wake();
  expect(queue.readyCount).toBe(0);
  await time.advance(1);
  queue.wake();
  expect(take().entry.delivery.id).toBe('n-1');
  expect(queue.take()).toBeUndefined();
  expect(queue.wakeAtMs).toBe(time.monotonicNow() + 2000);
  queue.wakeAll();
  queue.wake();
  expect(take().entry.delivery.id).toBe('i-2');
  expect(queue.wakeAtMs).toBe(Number.POSITIVE_INFINITY);
});

test('a progress that a later event replaces before it is sent is stored as replaced', () => {
  add('n-1', { replaceable: true });
  add('n-2');
  expect(left()).toEqual(['n-2']);
  expect(queue.size).toBe(1);
  expect(stored).toMatchObject([{ id: 'n-1', change: { status: 'replaced' }, onlyIfOwner: 'i-1' }]);
});

test('only the last ready chains leave memory, and each delivery keeps its own due time', () => {
  for (const id of ['i-1', 'i-2', 'i-3']) add(id, { order: 'none' });
  take();
  store(queue.shrink(2));
  expect(left()).toEqual(['i-1', 'i-2']);
  store(queue.shrink(0));
  expect(left()).toEqual(['i-1']);
  expect(stored).toEqual(
    ['i-3', 'i-2'].map((id) => ({ id, change: { owner: null, dueAtMs: now - 5 }, onlyIfOwner: 'i-1' })),
  );
});

test('deliveries that are given up leave ready and waiting chains, but not a chain that is being worked on', () => {
  for (const id of ['i-1', 'i-2', 'i-3']) add(id, { order: 'none' });
  afterTry(take(), failed(1000));
  take();
  stored = [];
  store(queue.giveUp(() => true, 'destination failing'));
  expect(left()).toEqual(['i-2']);
  expect(stored.map(({ id, change }) => [id, change.status, change.lastOutcome])).toEqual([
    ['i-3', 'dead', 'destination failing'],
    ['i-1', 'dead', 'destination failing'],
  ]);
  expect(queue.size).toBe(1);
});

test('a delivery that another instance took during its try is marked, and removed otherwise', () => {
  add('n-1');
  add('n-2');
  const { entry } = take();
  const [, second] = [...queue.entries()];
  queue.drop(entry);
  queue.drop(second as typeof entry);
  expect(entry.lost).toBe(true);
  expect(left()).toEqual(['n-1']);
});
