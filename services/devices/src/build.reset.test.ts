import { FloorReason } from '@headset-cloud/proto/transactions/v1/service_pb.ts';
import { DomainError } from '@headset-cloud/runtime/errors.ts';
import { waitFor } from '@headset-cloud/runtime/testing/wait.ts';
import { callerOf, imei, openWorld, provision, type World, writesOfChange } from './testing/world.ts';

let world: World;
beforeEach(async () => {
  world = await openWorld();
});
afterEach(() => world.close());

const activate = (application = 'app', clientId = 'c') =>
  world.devices.activateDevice({ caller: callerOf(application), deviceId: imei(0), clientId });
const deactivate = () => world.devices.deactivateDevice({ caller: callerOf('app'), deviceId: imei(0) });
const reset = (application = 'app', key?: string, device = 0) =>
  world.devices.resetDevice({ caller: callerOf(application, key), deviceId: imei(device) });
const association = (device = 0) => world.devices.getAssociation({ deviceId: imei(device) });
const code = (call: Promise<unknown>) =>
  call.then(
    () => 'ok',
    (error) => error.code as string,
  );
const document = () =>
  world.store
    .collection<{ _id: string; pending: unknown[]; dueAtMs?: number }>('devices')
    .findOne({ _id: imei(0) });
const atRest = () => waitFor('rest', async () => (await document())?.dueAtMs === undefined);
const command = () =>
  world.devices.sendOperation({
    caller: callerOf('app'),
    deviceId: imei(0),
    operationId: 'put-v1-applications-devices-commands',
    operation: { kind: { case: 'command', value: { action: 'a' } } },
  });

test('a reset keeps the activation, its client and slot, increments the activation epoch and creates its transaction', async () => {
  await provision(world, { limit: 1 });
  await activate();
  const { transactionId } = await reset();
  const { operation, ...created } = world.transactions.created.at(-1) ?? {};
  expect(created).toEqual({
    id: Number(transactionId),
    deviceId: imei(0),
    applicationId: 'app',
    operationId: 'put-v1-applications-devices-reset',
    epoch: 2,
    raisesFloor: true,
    floorReason: FloorReason.RESET,
    failMessage: '',
    minimumClientVersion: '',
    minimumFirmwareVersion: '',
    subject: '',
  });
  expect(operation?.kind).toMatchObject({ case: 'reset', value: { applicationId: 'app' } });
  expect(await world.devices.getActivation({ applicationId: 'app', deviceId: imei(0) })).toMatchObject({
    activated: true,
    clientId: 'c',
  });
  expect((await world.admin.getContract({ applicationId: 'app' })).contract?.activated).toBe(1);
  await deactivate();
  expect(world.transactions.created.at(-1)?.epoch).toBe(3);
  expect((await world.admin.getContract({ applicationId: 'app' })).contract?.activated).toBe(0);
});

test('operations after a reset carry the new activation epoch', async () => {
  await provision(world);
  await activate();
  await reset();
  await command();
  expect(world.transactions.created.at(-1)).toMatchObject({
    operationId: 'put-v1-applications-devices-commands',
    epoch: 2,
  });
});

test('a command does not overtake the resets that took effect before it', async () => {
  await provision(world);
  await activate();
  // Both take effect, and neither can create its transaction yet.
  world.transactions.failure = new DomainError('unavailable', 'unavailable');
  expect([await code(reset()), await code(reset())]).toEqual(['unavailable', 'unavailable']);
  world.transactions.failure = undefined;
  await command();
  await atRest();
  const operations = world.transactions.created.slice(1).map((t) => [t.operationId, t.epoch]);
  expect(operations).toEqual([
    ['put-v1-applications-devices-reset', 2],
    ['put-v1-applications-devices-reset', 3],
    ['put-v1-applications-devices-commands', 3],
  ]);
});

test('a command that a reset overtakes is created after it, at the new epoch', async () => {
  await provision(world);
  await activate();
  const gate = Promise.withResolvers<void>();
  world.transactions.gate = gate.promise;
  const slow = command();
  await waitFor('the command to wait', () => world.transactions.waiting > 0);
  world.transactions.gate = undefined;
  await reset();
  gate.resolve();
  await slow;
  expect(world.transactions.created.map((t) => [t.operationId.split('-').at(-1), t.epoch])).toEqual([
    ['devices', 1],
    ['reset', 2],
    ['commands', 2],
  ]);
});

test('a reset is rejected for the reasons of rule A3, in their order; nothing is changed', async () => {
  await provision(world);
  await provision(world, { name: 'other' });
  expect(await code(reset())).toBe('device_not_activated');
  expect(await code(reset('app', undefined, 77))).toBe('device_not_activated');
  await activate();
  await world.applications.updateSettings({ caller: callerOf('other'), remove: ['deviceEvent'] });
  expect(await code(reset('other'))).toBe('device_activated_by_other');
  await world.applications.updateSettings({ caller: callerOf('app'), remove: ['deviceEvent'] });
  expect(await code(reset())).toBe('destination_not_set');
  expect(world.transactions.created).toHaveLength(1);
  expect(await association()).toMatchObject({ applicationId: 'app', sinceEpoch: 1n, epoch: 1n });
});

test('one Idempotency-Key, ten concurrent callers and a later repeat: one reset', async () => {
  await provision(world);
  await activate();
  const answers = await Promise.all(Array.from({ length: 10 }, () => reset('app', 'key')));
  await reset();
  answers.push(await reset('app', 'key'));
  expect(new Set(answers.map((a) => a.transactionId)).size).toBe(1);
  expect(world.transactions.created.map((t) => t.epoch)).toEqual([1, 2, 3]);
});

test('after concurrent resets, activations and deactivations ids and epochs rise together, and slot and device are consistent', async () => {
  await provision(world, { limit: 1 });
  await activate();
  const calls = Array.from({ length: 30 }, (_, n) =>
    code([reset, deactivate, () => activate('app', `c${n}`)][n % 3]?.() ?? reset()),
  );
  const outcomes = await Promise.all(calls);
  expect(new Set(outcomes).difference(new Set(['ok', 'device_not_activated'])).size).toBe(0);
  const { created } = world.transactions;
  const ids = created.map((t) => t.id);
  expect(ids).toEqual(ids.toSorted((a, b) => a - b));
  const epochs = created.map((t) => t.epoch);
  expect(epochs).toEqual(epochs.toSorted((a, b) => a - b));
  // Each change that raises the minimum activation epoch has a separate epoch.
  const minimumEpochs = created.filter((t) => t.raisesFloor).map((t) => t.epoch);
  expect(new Set(minimumEpochs).size).toBe(minimumEpochs.length);
  const { activated } = await world.devices.getActivation({ applicationId: 'app', deviceId: imei(0) });
  expect((await world.admin.getContract({ applicationId: 'app' })).contract?.activated).toBe(
    activated ? 1 : 0,
  );
  expect((await document())?.pending).toEqual([]);
  expect(Number((await association()).epoch)).toBe(epochs.at(-1));
});

describe('cut off by a crash', () => {
  test.each(writesOfChange)('%s: the reset stays and the sweeper completes it, once', async (point) => {
    await provision(world);
    await activate();
    await atRest();
    world.cutAt = point;
    expect(await code(reset())).toBe('internal');
    expect(await association()).toMatchObject({ epoch: 2n });
    world.nowMs += 10_001;
    await atRest();
    expect(world.transactions.created.map((t) => [t.epoch, t.floorReason])).toEqual([
      [1, FloorReason.UNSPECIFIED],
      [2, FloorReason.RESET],
    ]);
  });

  test.each(writesOfChange)('%s a repeat with the Idempotency-Key returns the same reset', async (point) => {
    await provision(world);
    await activate();
    world.cutAt = point;
    expect(await code(reset('app', 'key'))).toBe('internal');
    const { transactionId } = await reset('app', 'key');
    expect(world.transactions.created.map((t) => t.id).slice(1)).toEqual([Number(transactionId)]);
  });

  test('while transactions is unavailable a reset waits, then completes before later changes', async () => {
    await provision(world);
    await activate();
    world.transactions.failure = new DomainError('unavailable', 'away');
    expect(await code(reset())).toBe('unavailable');
    world.transactions.failure = undefined;
    await deactivate();
    expect(world.transactions.created.map((t) => [t.epoch, t.floorReason])).toEqual([
      [1, FloorReason.UNSPECIFIED],
      [2, FloorReason.RESET],
      [3, FloorReason.DEACTIVATION],
    ]);
  });
});

describe('the association', () => {
  test('an unknown and a never activated device have none', async () => {
    await provision(world);
    for (const device of [0, 77]) {
      expect(await association(device)).toMatchObject({ applicationId: '', sinceEpoch: 0n, epoch: 0n });
    }
  });

  test('resets and repeated activations keep it, a deactivation ends it, the next activation begins a new association', async () => {
    await provision(world, { limit: 1 });
    await provision(world, { name: 'other', limit: 1 });
    await activate();
    expect(await association()).toMatchObject({ applicationId: 'app', sinceEpoch: 1n, epoch: 1n });
    await reset();
    await activate('app', 'another');
    await reset();
    expect(await association()).toMatchObject({ applicationId: 'app', sinceEpoch: 1n, epoch: 3n });
    await deactivate();
    expect(await association()).toMatchObject({ applicationId: '', sinceEpoch: 0n, epoch: 4n });
    await activate('other');
    expect(await association()).toMatchObject({ applicationId: 'other', sinceEpoch: 5n, epoch: 5n });
  });

  test('an activation stored without it counts since its own epoch, resets included', async () => {
    await provision(world);
    await activate();
    await world.store
      .collection('devices')
      .updateOne({ _id: imei(0) as never }, { $unset: { 'activation.sinceEpoch': '', lifecycle: '' } });
    expect(await association()).toMatchObject({ sinceEpoch: 1n, epoch: 1n });
    await reset();
    expect(await association()).toMatchObject({ sinceEpoch: 1n, epoch: 2n });
  });
});
