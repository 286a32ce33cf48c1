import { createFakeTime, type FakeTime } from '@headset-cloud/runtime/testing/fake-time.ts';
import type { Delivery } from '../domain/delivery.ts';
import type { ConditionalChange } from '../ports/delivery-store.ts';
import type { WriteResult } from './change-writer.ts';
import { DeliveryRecords } from './delivery-records.ts';

const leaseMs = 10_000;
let time: FakeTime;
let added: ConditionalChange[];
/** Ends the changes that were added, in their order. */
let ends: ((result: WriteResult) => void)[];
let records: DeliveryRecords;
let isHeld: boolean;

beforeEach(() => {
  time = createFakeTime(1_700_000_000_000);
  added = [];
  ends = [];
  isHeld = true;
  const add = (change: ConditionalChange) => {
    added.push(change);
    return new Promise<WriteResult>((resolve) => ends.push(resolve));
  };
  records = new DeliveryRecords({ time, instanceId: 'a', leaseMs, writer: { add, endOf: () => undefined } });
});
afterEach(() => records.stop());

const delivery = (id: string, sequence = 1) =>
  ({ id, orderKey: 't-1', sequence, order: 'ended' }) as Delivery;
const take = (...deliveries: Delivery[]) => records.take(deliveries, { held: () => isHeld });

test('a delivery without a record is stored whole with its first change, and only with that', () => {
  const one = delivery('n-1');
  take(one);
  records.change(one, { attempts: 1 });
  records.change(one, { attempts: 2 });
  records.change(delivery('n-2'), { attempts: 1 });
  expect(added.map(({ id, whole }) => [id, whole])).toEqual([
    ['n-1', one],
    ['n-1', undefined],
    ['n-2', undefined],
  ]);
});

test('a change is stored only while this instance owns the delivery, unless it was delivered', () => {
  records.change(delivery('n-1'), { attempts: 1 });
  records.change(delivery('n-1'), { status: 'dead' });
  records.change(delivery('n-1'), { status: 'delivered' });
  expect(added.map(({ onlyIfOwner }) => onlyIfOwner)).toEqual(['a', 'a', undefined]);
});

test('a delivery may be sent without a record only until its record is requested, and while the partition is held', () => {
  take(delivery('n-1'), delivery('n-2', 2));
  expect(records.maySendUnrecorded('n-1')).toBe(true);
  void records.record('n-1');
  expect([records.maySendUnrecorded('n-1'), records.maySendUnrecorded('n-2')]).toEqual([false, true]);
  isHeld = false;
  expect(records.maySendUnrecorded('n-2')).toBe(false);
});

test.each([
  ['stored', true],
  ['lost', false],
] as const)(
  'when the record is %s, everything that waits for it learns whose it is',
  async (result, mine) => {
    take(delivery('n-1'));
    const { durable } = records.settling(['n-1']);
    const recorded = records.recorded('n-1');
    const record = records.record('n-1');
    expect(records.lacks('n-1')).toBe(true);
    ends[0]?.(result);
    expect(await record).toBe(mine);
    expect(await recorded).toBe(mine);
    await durable;
    expect(records.lacks('n-1')).toBe(false);
    expect(records.hasLater({ orderKey: 't-1', sequence: 0 })).toBe(false);
  },
);

test('a record that a shutdown gives up settles nothing, so the log keeps the event', async () => {
  take(delivery('n-1'));
  let isDurable = false;
  void records.settling(['n-1']).durable.then(() => {
    isDurable = true;
  });
  const record = records.record('n-1');
  ends[0]?.('given up');
  expect(await record).toBe(true);
  await time.advance(0);
  expect(isDurable).toBe(false);
  expect(records.lacks('n-1')).toBe(true);
});

test('a delivery that has not ended is recorded after a second, once, with a lease', async () => {
  take(delivery('n-1'));
  await time.advance(1000);
  expect(added).toEqual([]);
  await time.advance(200);
  expect(added).toMatchObject([{ id: 'n-1', change: { owner: 'a' }, onlyIfOwner: 'a' }]);
  expect(added[0]?.change.dueAtMs).toBeGreaterThan(time.now() + leaseMs - 200);
  await time.advance(2000);
  expect(added.length).toBe(1);
});

test('earlier deliveries of an order key are shown when their records are durable; one without a record is not shown', async () => {
  take(delivery('n-1', 1), delivery('n-2', 2), delivery('n-3', 3));
  const third = { orderKey: 't-1', sequence: 3 };
  void records.record('n-1');
  const partly = records.waitForEarlier(third);
  ends[0]?.('stored');
  expect(await partly).toBe(false);
  void records.record('n-2');
  const shown = records.waitForEarlier(third);
  ends[1]?.('stored');
  expect(await shown).toBe(true);
});

test('a batch gets no more deliveries without a record than are allowed', () => {
  const { free } = records;
  records.expect(10);
  take(delivery('n-1'));
  expect(records.free).toBe(free - 11);
  records.expect(-10);
  expect(records.free).toBe(free - 1);
});
