import { DomainError } from '@headset-cloud/runtime/errors.ts';
import { waitFor } from '@headset-cloud/runtime/testing/wait.ts';
import { callerOf, imei, openWorld, provision, type World, writesOfChange } from './testing/world.ts';

let world: World;
beforeEach(async () => {
  world = await openWorld();
});
afterEach(() => world.close());

const activate = (application: string, device: number, clientId = `client-${device}`, key?: string) =>
  world.devices.activateDevice({ caller: callerOf(application, key), deviceId: imei(device), clientId });
const deactivate = (application: string, device: number, key?: string) =>
  world.devices.deactivateDevice({ caller: callerOf(application, key), deviceId: imei(device) });
const slots = async (applicationId = 'app') =>
  (await world.admin.getContract({ applicationId })).contract?.activated;
const code = (call: Promise<unknown>) =>
  call.then(
    () => 'ok',
    (error) => error.code as string,
  );
const document = (device: number) =>
  world.store
    .collection<{ _id: string; pending: unknown[]; dueAtMs?: number }>('devices')
    .findOne({ _id: imei(device) });

test('an activation takes effect at once, takes a slot and creates its transaction', async () => {
  await provision(world);
  const { transactionId } = await world.devices.activateDevice({
    caller: callerOf('app'),
    deviceId: imei(0),
    clientId: 'c',
    clientSecret: 's3cret',
  });
  expect(world.transactions.created).toMatchObject([
    {
      id: Number(transactionId),
      operationId: 'post-v1-applications-devices',
      epoch: 1,
      raisesFloor: false,
      operation: {
        kind: { case: 'activate', value: { applicationId: 'app', clientId: 'c', clientSecret: 's3cret' } },
      },
    },
  ]);
  expect(await world.devices.getActivation({ applicationId: 'app', deviceId: imei(0) })).toMatchObject({
    activated: true,
    clientId: 'c',
  });
  expect(await slots()).toBe(1);
  await waitFor('rest', async () => (await document(0))?.dueAtMs === undefined);
  const stored = await document(0);
  expect(JSON.stringify(stored)).not.toContain('s3cret');
});

test('a repeated activation creates a transaction, takes no second slot, and replaces the client id', async () => {
  await provision(world, { limit: 1 });
  const first = await activate('app', 0, 'one');
  const second = await activate('app', 0, 'one');
  const third = await activate('app', 0, 'two');
  expect(new Set([first, second, third].map((a) => a.transactionId)).size).toBe(3);
  expect(world.transactions.created.map((t) => t.epoch)).toEqual([1, 1, 1]);
  expect(await slots()).toBe(1);
  expect((await world.devices.getActivation({ applicationId: 'app', deviceId: imei(0) })).clientId).toBe(
    'two',
  );
  expect(await code(activate('app', 1, 'one'))).toBe('activation_limit');
});

test('reasons for rejecting an activation', async () => {
  await provision(world, { limit: 2, devices: 3 });
  await provision(world, { name: 'other', limit: 2, devices: 3 });
  await activate('app', 0, 'used');
  await expect(activate('other', 0)).rejects.toMatchObject({ code: 'device_activated_by_other' });
  await expect(activate('app', 99)).rejects.toMatchObject({
    code: 'activation_limit',
    message: 'not contracted or activation limit exceeded.',
  });
  await expect(activate('app', 1, 'used')).rejects.toMatchObject({
    code: 'client_id_in_use',
    message: 'ClientId is already in use.',
  });
  await activate('app', 1);
  expect(await code(activate('app', 2))).toBe('activation_limit');
  expect(await slots()).toBe(2);
});

test('without a destination or a key an activation is 404 and nothing changes', async () => {
  await provision(world);
  await world.applications.updateSettings({ caller: callerOf('app'), remove: ['deviceEvent'] });
  await expect(activate('app', 0)).rejects.toMatchObject({
    code: 'destination_not_set',
    message: expect.stringContaining('deviceEvent'),
  });
  expect(world.transactions.created).toEqual([]);
  expect(await slots()).toBe(0);
});

test("of twenty concurrent activations for a contract's last slot exactly one succeeds, and the slot stays usable", async () => {
  await provision(world, { limit: 1, devices: 20 });
  const outcomes = await Promise.all(Array.from({ length: 20 }, (_, n) => code(activate('app', n))));
  expect(outcomes.filter((one) => one === 'ok')).toHaveLength(1);
  expect(outcomes.filter((one) => one === 'activation_limit')).toHaveLength(19);
  expect(world.transactions.created).toHaveLength(1);
  await deactivate('app', outcomes.indexOf('ok'));
  expect(await slots()).toBe(0);
  expect(await code(activate('app', 3))).toBe('ok');
});

test('of twenty concurrent activations with one client id exactly one succeeds, and only its slot is taken', async () => {
  await provision(world, { limit: 20, devices: 20 });
  const outcomes = await Promise.all(Array.from({ length: 20 }, (_, n) => code(activate('app', n, 'same'))));
  expect(outcomes.filter((one) => one === 'ok')).toHaveLength(1);
  expect(outcomes.filter((one) => one === 'client_id_in_use')).toHaveLength(19);
  expect(await slots()).toBe(1);
});

test('twenty activations at once of one device: one slot, one epoch, a transaction each, in order', async () => {
  await provision(world, { limit: 1 });
  const outcomes = await Promise.all(Array.from({ length: 20 }, (_, n) => code(activate('app', 0, `c${n}`))));
  expect(new Set(outcomes)).toEqual(new Set(['ok']));
  const ids = world.transactions.created.map((t) => t.id);
  expect(ids).toHaveLength(20);
  expect(ids).toEqual([...ids].sort((a, b) => a - b));
  expect(new Set(world.transactions.created.map((t) => t.epoch))).toEqual(new Set([1]));
  expect(await slots()).toBe(1);
});

test('of two applications that activate one device concurrently exactly one succeeds', async () => {
  await provision(world, { limit: 1 });
  await provision(world, { name: 'other', limit: 1 });
  const outcomes = await Promise.all([code(activate('app', 0, 'a')), code(activate('other', 0, 'b'))]);
  expect(outcomes.sort()).toEqual(['device_activated_by_other', 'ok']);
  expect(((await slots('app')) ?? 0) + ((await slots('other')) ?? 0)).toBe(1);
});

test('two callers of one Idempotency-Key: one transaction, one answer', async () => {
  await provision(world);
  const answers = await Promise.all(Array.from({ length: 10 }, () => activate('app', 0, 'c', 'key')));
  expect(new Set(answers.map((a) => a.transactionId)).size).toBe(1);
  expect(world.transactions.created).toHaveLength(1);
  await deactivate('app', 0);
  expect((await activate('app', 0, 'c', 'key')).transactionId).toBe(answers[0]?.transactionId);
  expect((await world.devices.getActivation({ applicationId: 'app', deviceId: imei(0) })).activated).toBe(
    false,
  );
});

test('a deactivation takes effect at once: higher epoch, higher minimum activation epoch, slot and client id free', async () => {
  await provision(world, { limit: 1 });
  await activate('app', 0, 'c');
  const { transactionId } = await deactivate('app', 0);
  expect(world.transactions.created.at(-1)).toMatchObject({
    id: Number(transactionId),
    operationId: 'delete-v1-applications-devices',
    epoch: 2,
    raisesFloor: true,
  });
  expect(await slots()).toBe(0);
  expect(await code(deactivate('app', 0))).toBe('device_not_activated');
  await activate('app', 1, 'c');
  await deactivate('app', 1);
  await activate('app', 0, 'c');
  expect(world.transactions.created.at(-1)).toMatchObject({ deviceId: imei(0), epoch: 3 });
});

test('only the application that has a device activated deactivates it', async () => {
  await provision(world);
  await provision(world, { name: 'other' });
  await activate('app', 0);
  await expect(deactivate('other', 0)).rejects.toMatchObject({
    code: 'device_activated_by_other',
    message: 'The device is activated by another application.',
  });
  await expect(deactivate('app', 1)).rejects.toMatchObject({
    code: 'device_not_activated',
    message: 'The device is not activated.',
  });
});

test('after concurrent activations and deactivations slots, device and order of transactions are consistent', async () => {
  await provision(world, { limit: 2 });
  await activate('app', 0);
  const calls = Array.from({ length: 30 }, (_, n) =>
    code(n % 2 === 0 ? deactivate('app', 0) : activate('app', 0, `c${n}`)),
  );
  const outcomes = await Promise.all(calls);
  expect(new Set(outcomes).difference(new Set(['ok', 'device_not_activated'])).size).toBe(0);
  const ids = world.transactions.created.map((t) => t.id);
  expect(ids).toEqual([...ids].sort((a, b) => a - b));
  const epochs = world.transactions.created.map((t) => t.epoch);
  expect(epochs).toEqual([...epochs].sort((a, b) => a - b));
  const { activated } = await world.devices.getActivation({ applicationId: 'app', deviceId: imei(0) });
  expect(await slots()).toBe(activated ? 1 : 0);
  expect(world.transactions.created.at(-1)?.raisesFloor).toBe(!activated);
  expect((await document(0))?.pending).toEqual([]);
});

describe('cut off by a crash', () => {
  test.each(['after store devices.devices.activation', 'after rpc devices.CreateTransaction'])(
    '%s by an instance with a clock one day ahead: the sweeper does not wait',
    async (point) => {
      await provision(world, { limit: 1 });
      world.cutAt = point;
      await expect(activate('app', 0)).rejects.toMatchObject({ code: 'internal' });
      // The time that its clock would have written.
      const ahead = { dueAtMs: 86_400_000 };
      await world.store.collection<{ _id: string }>('devices').updateOne({ _id: imei(0) }, { $inc: ahead });
      await waitFor('the sweeper to finish', async () => {
        world.nowMs += 1000;
        return (await document(0))?.dueAtMs === undefined;
      });
      expect(world.transactions.created).toHaveLength(1);
      expect(await slots()).toBe(1);
    },
  );

  test.each(writesOfChange)('%s: the activation stays and the sweeper completes it', async (point) => {
    await provision(world, { limit: 1 });
    world.cutAt = point;
    await expect(activate('app', 0)).rejects.toMatchObject({ code: 'internal' });
    expect((await world.devices.getActivation({ applicationId: 'app', deviceId: imei(0) })).activated).toBe(
      true,
    );
    world.nowMs += 10_001;
    await waitFor('the transaction', () => world.transactions.created.length === 1);
    await waitFor('rest', async () => (await document(0))?.dueAtMs === undefined);
    expect(world.transactions.created).toHaveLength(1);
    expect(await slots()).toBe(1);
  });

  test.each(writesOfChange)('%s: the deactivation stays and the sweeper completes it', async (point) => {
    await provision(world, { limit: 1 });
    await activate('app', 0);
    world.cutAt = point;
    await expect(deactivate('app', 0)).rejects.toMatchObject({ code: 'internal' });
    expect((await world.devices.getActivation({ applicationId: 'app', deviceId: imei(0) })).activated).toBe(
      false,
    );
    world.nowMs += 10_001;
    await waitFor('rest', async () => (await document(0))?.dueAtMs === undefined);
    expect(world.transactions.created.map((t) => t.raisesFloor)).toEqual([false, true]);
    expect(await slots()).toBe(0);
    expect(await code(activate('app', 1))).toBe('ok');
    expect(await code(activate('app', 2))).toBe('activation_limit');
  });

  test.each(writesOfChange)(
    '%s a repeat with the Idempotency-Key continues where it stopped: one transaction',
    async (point) => {
      await provision(world, { limit: 1 });
      world.cutAt = point;
      await expect(activate('app', 0, 'c', 'key')).rejects.toMatchObject({ code: 'internal' });
      const { transactionId } = await activate('app', 0, 'c', 'key');
      expect(world.transactions.created.map((t) => t.id)).toEqual([Number(transactionId)]);
      expect(await slots()).toBe(1);
      await waitFor('rest', async () => (await document(0))?.dueAtMs === undefined);
    },
  );

  test('a new activation first frees the slot of an interrupted deactivation', async () => {
    await provision(world, { limit: 1 });
    await activate('app', 0);
    world.cutAt = 'after store devices.devices.activation';
    await expect(deactivate('app', 0)).rejects.toMatchObject({ code: 'internal' });
    await activate('app', 0);
    expect(world.transactions.created.map((t) => t.epoch)).toEqual([1, 2, 3]);
    expect(await slots()).toBe(1);
  });

  test('a later change first completes the earlier one', async () => {
    await provision(world, { limit: 1 });
    world.cutAt = 'after store devices.devices.activation';
    await expect(activate('app', 0)).rejects.toMatchObject({ code: 'internal' });
    await deactivate('app', 0);
    expect(world.transactions.created.map((t) => [t.epoch, t.raisesFloor])).toEqual([
      [1, false],
      [2, true],
    ]);
  });
});

test('while transactions is unavailable an activation waits, then completes', async () => {
  await provision(world);
  world.transactions.failure = new DomainError('unavailable', 'away');
  await expect(activate('app', 0)).rejects.toMatchObject({ code: 'unavailable' });
  world.transactions.failure = undefined;
  world.nowMs += 10_001;
  await waitFor('the transaction', () => world.transactions.created.length === 1);
});
