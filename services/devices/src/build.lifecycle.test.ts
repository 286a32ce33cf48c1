import { fromBinary } from '@bufbuild/protobuf';
import { DomainError } from '@headset-cloud/kit/errors.ts';
import { topics } from '@headset-cloud/kit/eventlog/types.ts';
import { waitFor } from '@headset-cloud/kit/testing/wait.ts';
import { DeviceLifecycleEventSchema, LifecycleKind } from '@headset-cloud/proto/devices/v1/events_pb.ts';
import { callerOf, imei, openWorld, provision, type World, writesOfChange } from './testing/world.ts';

let world: World;
beforeEach(async () => {
  world = await openWorld();
  await provision(world);
});
afterEach(() => world.close());

const { ACTIVATED, DEACTIVATED } = LifecycleKind;
const activate = (clientId = 'c', deviceId = imei(0)) =>
  world.devices.activateDevice({ caller: callerOf('app'), deviceId, clientId });
const deactivate = () => world.devices.deactivateDevice({ caller: callerOf('app'), deviceId: imei(0) });
const reset = () => world.devices.resetDevice({ caller: callerOf('app'), deviceId: imei(0) });
const events = async () =>
  (await world.log.readNewest(topics.deviceLifecycle, 1000)).map((one) => ({
    key: one.key,
    ...fromBinary(DeviceLifecycleEventSchema, one.value),
  }));
const kinds = async () => (await events()).map((one) => [Number(one.epoch), one.kind]);
const arrived = (count: number) => waitFor(`${count} events`, async () => (await events()).length >= count);
const owed = async () =>
  (
    await world.store
      .collection<{ _id: string; lifecycle: unknown[]; dueAtMs?: number }>('devices')
      .findOne({ _id: imei(0) })
  )?.lifecycle;

test('an activation and a deactivation are published with device, application, activation epoch and time', async () => {
  world.nowMs = 5000;
  await activate();
  await arrived(1);
  world.nowMs = 6000;
  await deactivate();
  await arrived(2);
  const common = { key: imei(0), deviceId: imei(0), applicationId: 'app' };
  expect(await events()).toMatchObject([
    { ...common, epoch: 1n, kind: ACTIVATED, atMs: 5000n },
    { ...common, epoch: 2n, kind: DEACTIVATED, atMs: 6000n },
  ]);
  await waitFor('nothing owed', async () => (await owed())?.length === 0);
});

test('another client id and a reset begin and end no activation', async () => {
  await activate();
  await activate('another');
  await reset();
  await deactivate();
  await arrived(2);
  expect(await kinds()).toEqual([
    [1, ACTIVATED],
    [3, DEACTIVATED],
  ]);
});

test('refused calls publish nothing', async () => {
  await expect(activate('c', imei(99))).rejects.toMatchObject({ code: 'activation_limit' });
  await expect(deactivate()).rejects.toMatchObject({ code: 'device_not_activated' });
  await activate();
  await arrived(1);
  expect(await kinds()).toEqual([[1, ACTIVATED]]);
});

test('while the log is away calls continue; afterwards the events come, in order', async () => {
  world.logFailure = new DomainError('unavailable', 'away');
  await activate();
  await deactivate();
  await activate();
  expect(await owed()).toHaveLength(3);
  world.logFailure = undefined;
  world.nowMs += 10_001;
  await arrived(3);
  await waitFor('nothing owed', async () => (await owed())?.length === 0);
  expect(await kinds()).toEqual([
    [1, ACTIVATED],
    [2, DEACTIVATED],
    [3, ACTIVATED],
  ]);
});

test.each(writesOfChange)('cut off %s the event still comes', async (point) => {
  world.cutAt = point;
  await expect(activate()).rejects.toMatchObject({ code: 'internal' });
  world.nowMs += 10_001;
  await arrived(1);
  expect((await kinds())[0]).toEqual([1, ACTIVATED]);
});

test('after a crash between publishing and noting that, the same event is published again', async () => {
  world.cutAt = 'after log devices.device-lifecycle';
  await activate();
  await arrived(1);
  world.nowMs += 10_001;
  await arrived(2);
  const [first, second] = await events();
  expect(second).toEqual(first);
  await waitFor('nothing owed', async () => (await owed())?.length === 0);
});

test('what is owed is counted until it is in the log', async () => {
  const pending = async () =>
    (await world.metrics.getSingleMetric('headset_devices_pending_changes')?.get())?.values[0]?.value;
  expect(await pending()).toBe(0);
  world.logFailure = new DomainError('unavailable', 'away');
  await activate();
  expect(await pending()).toBe(1);
  world.logFailure = undefined;
  world.nowMs += 10_001;
  await waitFor('nothing pending', async () => (await pending()) === 0);
});

test('many changes at once are published once each, in the order of their activation epochs', async () => {
  for (let n = 0; n < 10; n += 1) {
    await activate();
    await deactivate();
  }
  await arrived(20);
  await waitFor('nothing owed', async () => (await owed())?.length === 0);
  expect((await kinds()).map(([epoch]) => epoch)).toEqual(Array.from({ length: 20 }, (_, n) => n + 1));
});
