import { fromBinary } from '@bufbuild/protobuf';
import { topics } from '@headset-cloud/eventlog/types.ts';
import { DeviceLifecycleEventSchema } from '@headset-cloud/proto/devices/v1/events_pb.ts';
import { DomainError } from '@headset-cloud/runtime/errors.ts';
import { waitFor } from '@headset-cloud/runtime/testing/wait.ts';
import { atRest, callerOf, imei, openWorld, provision, type World } from './testing/world.ts';

/** A canceled activation is undone (ADR 0063). */

let world: World;
beforeEach(async () => {
  world = await openWorld();
  await provision(world, { limit: 1 });
});
afterEach(() => world.close());

const activate = async (clientId = 'one', device = 0, clientSecret = '') =>
  (
    await world.devices.activateDevice({
      ...{ caller: callerOf('app'), deviceId: imei(device), clientId, clientSecret },
    })
  ).transactionId;
const undo = (transactionId: bigint) => world.devices.undoActivation({ deviceId: imei(0), transactionId });
const deactivate = () => world.devices.deactivateDevice({ caller: callerOf('app'), deviceId: imei(0) });
const shown = () => world.devices.getActivation({ applicationId: 'app', deviceId: imei(0) });
const current = async () => (await world.keys.getCurrentActivation({ deviceId: imei(0) })).activation;
const slots = async () => (await world.admin.getContract({ applicationId: 'app' })).contract?.activated;

test('the device is deactivated, slot and client id are free, and no transaction is created', async () => {
  const id = await activate();
  await undo(id);
  expect(await shown()).toMatchObject({ activated: false });
  expect(await current()).toMatchObject({ epoch: 2n, revision: id, applicationId: '', clientId: '' });
  expect(world.transactions.ended).toEqual([[imei(0), 2]]);
  expect(world.transactions.created).toHaveLength(1);
  expect(await slots()).toBe(0);
  await activate('one', 1);
});

test('a repeated, late or unknown cancellation changes nothing: the newer activation stays', async () => {
  const first = await activate();
  await undo(first);
  const second = await activate();
  await undo(first);
  await undo(first - 1n);
  await undo(second + 100n);
  expect(await shown()).toMatchObject({ activated: true, clientId: 'one' });
  expect(world.transactions.ended).toHaveLength(1);
  expect(await slots()).toBe(1);
});

test('the event says that the activation was undone, so that it is not billed', async () => {
  await undo(await activate());
  const events = async () =>
    (await world.log.readNewest(topics.deviceLifecycle, 10)).map(({ value }) =>
      fromBinary(DeviceLifecycleEventSchema, value),
    );
  await waitFor('both events', async () => (await events()).length === 2);
  expect((await events()).map(({ epoch, undone }) => [epoch, undone])).toEqual([
    [1n, false],
    [2n, true],
  ]);
});

describe('a canceled activation that repeated another one', () => {
  test('restores it, with its client id and secret', async () => {
    await activate('one', 0, 'first secret');
    const second = await activate('two', 0, 'second secret');
    await undo(second);
    expect(await shown()).toMatchObject({ activated: true, clientId: 'one' });
    expect(await current()).toMatchObject({
      ...{ epoch: 1n, revision: second, clientId: 'one', clientSecret: 'first secret', sinceEpoch: 1n },
    });
    await undo(second);
    expect(await shown()).toMatchObject({ activated: true, clientId: 'one' });
    expect(await slots()).toBe(1);
  });

  test.each([
    ['in the order of their creation', [0, 1, 2]],
    ['in the opposite order', [2, 1, 0]],
    ['twice each', [1, 1, 0, 2, 2, 0]],
  ])('is deactivated with the last one: %s', async (_, order) => {
    const ids = [await activate('one'), await activate('two'), await activate('three')];
    for (const n of order.slice(0, -1)) await undo(ids[n] as bigint);
    await undo(ids[order.at(-1) as number] as bigint);
    expect(await shown()).toMatchObject({ activated: false });
    expect(await slots()).toBe(0);
  });

  test('restores the newest activation that is not canceled', async () => {
    await activate('one');
    const [second, third] = [await activate('two'), await activate('three')];
    await undo(second);
    expect(await shown()).toMatchObject({ clientId: 'three' });
    await undo(third);
    expect(await shown()).toMatchObject({ activated: true, clientId: 'one' });
    // One more activation is canceled after the restored one.
    const fourth = await activate('four');
    await undo(fourth);
    expect(await shown()).toMatchObject({ activated: true, clientId: 'one' });
  });

  test('keeps the newer client id if another device now has the former client id', async () => {
    await world.admin.putContract({ applicationId: 'app', activationLimit: 2 });
    const first = await activate('one');
    const second = await activate('two');
    await activate('one', 1);
    await undo(second);
    expect(await shown()).toMatchObject({ activated: true, clientId: 'two' });
    await undo(first);
    expect(await shown()).toMatchObject({ activated: false });
    expect(await slots()).toBe(1);
  });

  test('of many keeps the oldest, which has been in force longest', async () => {
    await activate('oldest');
    const ids: bigint[] = [];
    for (let n = 0; n < 40; n += 1) ids.push(await activate(`client-${n}`));
    for (const id of ids) await undo(id);
    expect(await shown()).toMatchObject({ activated: true, clientId: 'oldest' });
  });
});

test('a reset device stays activated, even if the activation before the reset is canceled', async () => {
  const id = await activate();
  await world.devices.resetDevice({ caller: callerOf('app'), deviceId: imei(0) });
  await undo(id);
  expect(await shown()).toMatchObject({ activated: true, clientId: 'one' });
  await undo(await activate('two'));
  expect(await shown()).toMatchObject({ activated: true, clientId: 'one' });
});

test('of a concurrent cancellation and deactivation one takes effect', async () => {
  const id = await activate();
  await Promise.allSettled([undo(id), deactivate(), undo(id)]);
  await atRest(world);
  expect(await shown()).toMatchObject({ activated: false });
  expect(await current()).toMatchObject({ epoch: 2n });
  expect(await slots()).toBe(0);
});

test('a concurrent cancellation and repeated activation both take effect, in either order', async () => {
  for (let round = 0; round < 10; round += 1) {
    const id = await activate(`first-${round}`);
    await Promise.all([undo(id), activate(`second-${round}`)]);
    expect(await shown()).toMatchObject({ activated: true, clientId: `second-${round}` });
    expect(await slots()).toBe(1);
    await deactivate();
  }
});

test.each(['after store devices.devices.activation', 'after store devices.devices.undo 2'])(
  'after a crash %s the sweeper completes it: the slot is free',
  async (point) => {
    const id = await activate();
    await atRest(world);
    world.cutAt = point;
    await expect(undo(id)).rejects.toMatchObject({ code: 'internal' });
    expect(await shown()).toMatchObject({ activated: false });
    world.nowMs += 60_001;
    await atRest(world);
    expect(await slots()).toBe(0);
    expect(world.transactions.ended).toContainEqual([imei(0), 2]);
    await undo(id);
    await activate('one', 1);
    await expect(activate('two')).rejects.toMatchObject({ code: 'activation_limit' });
  },
);

test('while transactions is unavailable the undo stays pending, and the next activation completes it first', async () => {
  const id = await activate();
  await atRest(world);
  world.transactions.failure = new DomainError('unavailable', 'away');
  await expect(undo(id)).rejects.toMatchObject({ code: 'unavailable' });
  await expect(activate('two')).rejects.toMatchObject({ code: 'unavailable' });
  expect(await shown()).toMatchObject({ activated: false });
  world.transactions.failure = undefined;
  await activate('two');
  expect(world.transactions.ended).toEqual([[imei(0), 2]]);
  expect(world.transactions.created.map(({ epoch }) => epoch)).toEqual([1, 3]);
  expect(await slots()).toBe(1);
});
