import { recordOf } from '@headset-cloud/kit/audit/record.ts';
import type { Activation, DeviceState } from '../domain/device.ts';
import { imei, openWorld, type World } from '../testing/world.ts';
import { createActivationStore } from './activations.ts';
import type { DeviceDocument } from './documents.ts';

const deviceId = imei(0);
const intent = (transactionId: number) => ({
  id: `intent-${transactionId}`,
  applicationId: 'app',
  transactionId,
  untilMs: 1,
});
const activation = (epoch = 1, clientId = 'c'): Activation => ({
  applicationId: 'app',
  clientId,
  epoch,
  sinceEpoch: epoch,
});

const record = recordOf(1, { deviceId });
const slot = { applicationId: 'app', id: 'take' };

let world: World;
let store: ReturnType<typeof createActivationStore>;
beforeEach(async () => {
  // A long interval, because the service's own sweeper would claim due devices.
  world = await openWorld({ DEVICES_SWEEP_INTERVAL_MS: 60_000 });
  await world.admin.putDevice({ deviceId });
  const clock = { now: () => world.nowMs };
  store = createActivationStore(world.store.collection<DeviceDocument>('devices'), clock, 60_000);
});
afterEach(() => world.close());
const stored = async () => (await store.find(deviceId)) as DeviceState;

test('one intent at a time, and none below the newest change', async () => {
  expect(await store.intend(deviceId, intent(5))).toBe(true);
  expect(await store.intend(deviceId, intent(6))).toBe(false);
  await store.activate(deviceId, intent(5), activation(), 'take', record);
  expect(await store.deactivate(deviceId, 7, activation(), slot, record)).toBe('changed');
  for (const pending of (await store.find(deviceId))?.pending ?? []) await store.settle(deviceId, pending);
  expect(await store.intend(deviceId, intent(6))).toBe(false);
  expect(await store.intend(deviceId, intent(8))).toBe(true);
});

test('no intent while work is pending', async () => {
  await store.intend(deviceId, intent(5));
  await store.abandon(deviceId, intent(5), true);
  expect(await store.intend(deviceId, intent(6))).toBe(false);
});

test('only the holder of the intent activates', async () => {
  await store.intend(deviceId, intent(5));
  expect(await store.activate(deviceId, intent(6), activation(), 'take', record)).toBe('lost');
  await store.abandon(deviceId, intent(5), false);
  expect(await store.activate(deviceId, intent(5), activation(), 'take', record)).toBe('lost');
});

test('changes come in the order of their transaction ids, of the activation that was seen', async () => {
  await store.intend(deviceId, intent(5));
  await store.activate(deviceId, intent(5), activation(), 'take', record);
  const seen = await stored();
  expect(await store.reactivate(seen, 8, activation(1, 'd'), record)).toBe('changed');
  expect(await store.reactivate(seen, 9, activation(1, 'e'), record)).toBe('lost');
  expect(await store.deactivate(deviceId, 7, activation(), slot, record)).toBe('lost');
  expect(await store.deactivate(deviceId, 9, activation(2), slot, record)).toBe('lost');
  expect((await store.find(deviceId))?.pending.map((p) => p.transactionId)).toEqual([5, 8]);
});

test('due work is claimed by one of several instances', async () => {
  await store.intend(deviceId, intent(5));
  const claims = await Promise.all([1, 2, 3].map((n) => store.claimDue(10, 10_000 + n, 10)));
  expect(claims.flat()).toEqual([deviceId]);
});

test('a device has the slot of its activation until it is given back, with one return', async () => {
  await store.intend(deviceId, intent(5));
  await store.activate(deviceId, intent(5), activation(), 'take', record);
  await store.deactivate(deviceId, 7, activation(), slot, record);
  expect(await store.find(deviceId)).toMatchObject({
    slot,
    pending: [{ slotId: 'take' }, { slotId: 'take' }],
  });
  expect(await store.countSlots('app')).toBe(1);
  await store.giveBack(deviceId, 'another', 'return-0');
  await Promise.all([1, 2].map((n) => store.giveBack(deviceId, 'take', `return-${n}`)));
  const after = await store.find(deviceId);
  expect(after?.slot).toBeUndefined();
  expect(after?.returned).toEqual({ slotId: 'take', id: 'return-1' });
  expect(await store.countSlots('app')).toBe(0);
});

test('a device owes its slot from the deactivation until it gives the slot back', async () => {
  const owing = () => store.owingSlots('app', 10);
  await store.intend(deviceId, intent(5));
  expect(await owing()).toEqual([]);
  await store.activate(deviceId, intent(5), activation(), 'take', record);
  expect(await owing()).toEqual([]);
  await store.deactivate(deviceId, 6, activation(), slot, record);
  expect([await owing(), await store.owingSlots('other', 10)]).toEqual([[deviceId], []]);
  await store.giveBack(deviceId, 'take', 'return');
  expect(await owing()).toEqual([]);
});

test('a device owes others that are away a hundred works at most; a deactivation is never refused', async () => {
  expect(await store.intend(deviceId, intent(5))).toBe(true);
  await store.activate(deviceId, intent(5), activation(), 'take', record);
  const most = 100;
  for (let i = 1; i < most; i += 1) {
    expect(await store.reset(deviceId, 5 + i, activation(i), record)).toBe('changed');
  }
  const full = expect.objectContaining({ code: 'unavailable', retryAfterMs: 5000 });
  await expect(store.reset(deviceId, 500, activation(most), record)).rejects.toEqual(full);
  const seen = await stored();
  await expect(store.reactivate(seen, 500, activation(most, 'd'), record)).rejects.toEqual(full);
  expect(await store.deactivate(deviceId, 500, activation(most), slot, record)).toBe('changed');
  await expect(store.intend(deviceId, intent(501))).rejects.toEqual(full);
  for (const pending of (await store.find(deviceId))?.pending ?? []) await store.settle(deviceId, pending);
  expect(await store.intend(deviceId, intent(501))).toBe(true);
});
