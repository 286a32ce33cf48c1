import { recordOf } from '@headset-cloud/rules/audit/record.ts';
import type { Activation, DeviceState } from '../domain/device.ts';
import { imei, openWorld, type World } from '../testing/world.ts';
import { createActivationStore } from './activations.ts';
import type { DeviceDocument } from './documents.ts';

const deviceId = imei(0);
const activation = (epoch = 1, clientId = 'c', slot = 0): Activation => ({
  ...{ applicationId: 'app', clientId, epoch, slot },
  sinceEpoch: epoch,
});

const record = recordOf(1, { deviceId });

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

const settleAll = async () => {
  for (const pending of (await stored()).pending) await store.settle(deviceId, pending);
};

test('a device is activated once, with an id above the newest change, and only if no work is pending', async () => {
  expect(await store.activate(deviceId, 5, activation(), record)).toBe('changed');
  expect(await store.activate(deviceId, 6, activation(2), record)).toBe('lost');
  expect(await store.deactivate(deviceId, 7, activation(), record)).toBe('changed');
  expect(await store.activate(deviceId, 8, activation(3), record)).toBe('lost');
  await settleAll();
  expect(await store.activate(deviceId, 6, activation(3), record)).toBe('lost');
  expect(await store.activate(deviceId, 8, activation(2), record)).toBe('lost');
  expect(await store.activate(deviceId, 8, activation(3), record)).toBe('changed');
});

test('no two devices have the same slot or client id; the end of the activation frees both', async () => {
  const other = imei(1);
  await world.admin.putDevice({ deviceId: other });
  await store.activate(deviceId, 5, activation(), record);
  expect(await store.activate(other, 6, activation(1, 'd'), record)).toBe('taken');
  expect(await store.activate(other, 6, activation(1, 'c', 1), record)).toBe('taken');
  expect(await store.activate(other, 6, { ...activation(1, 'd'), applicationId: 'another' }, record)).toBe(
    'changed',
  );
  await store.deactivate(other, 7, { ...activation(1, 'd'), applicationId: 'another' }, record);
  await store.deactivate(deviceId, 8, activation(), record);
  await settleAll();
  expect(await store.activate(deviceId, 9, activation(3, 'd'), record)).toBe('changed');
});

test('changes apply in the order of their transaction ids, to the activation that was read', async () => {
  await store.activate(deviceId, 5, activation(), record);
  const seen = await stored();
  expect(await store.reactivate(seen, 8, activation(1, 'd'), record)).toBe('changed');
  expect(await store.reactivate(seen, 9, activation(1, 'e'), record)).toBe('lost');
  expect(await store.deactivate(deviceId, 7, activation(), record)).toBe('lost');
  expect(await store.deactivate(deviceId, 9, activation(2), record)).toBe('lost');
  expect((await store.find(deviceId))?.pending.map((p) => p.transactionId)).toEqual([5, 8]);
});

test('due work is claimed by only one of several instances', async () => {
  await store.activate(deviceId, 5, activation(), record);
  const claims = await Promise.all(
    [1, 2, 3].map((n) => store.claimDue(world.nowMs + 60_000, world.nowMs + 70_000 + n, 10)),
  );
  expect(claims.flat()).toEqual([deviceId]);
});

test('a device has at most a hundred pending works while other services are unavailable; a deactivation is always accepted', async () => {
  await store.activate(deviceId, 5, activation(), record);
  const most = 100;
  for (let i = 1; i < most; i += 1) {
    expect(await store.reset(deviceId, 5 + i, activation(i), record)).toBe('changed');
  }
  const full = expect.objectContaining({ code: 'unavailable', retryAfterMs: 5000 });
  await expect(store.reset(deviceId, 500, activation(most), record)).rejects.toEqual(full);
  const seen = await stored();
  await expect(store.reactivate(seen, 500, activation(most, 'd'), record)).rejects.toEqual(full);
  expect(await store.deactivate(deviceId, 500, activation(most), record)).toBe('changed');
  await expect(store.activate(deviceId, 501, activation(most + 2), record)).rejects.toEqual(full);
  await settleAll();
  expect(await store.activate(deviceId, 501, activation(most + 2), record)).toBe('changed');
});
