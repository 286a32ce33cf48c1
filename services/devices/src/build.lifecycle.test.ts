import { fromBinary } from '@bufbuild/protobuf';
import { topics } from '@headset-cloud/eventlog/types.ts';
import { DeviceLifecycleEventSchema, LifecycleKind } from '@headset-cloud/proto/devices/v1/events_pb.ts';
import { DomainError } from '@headset-cloud/runtime/errors.ts';
import { waitFor } from '@headset-cloud/runtime/testing/wait.ts';
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
const pendingEvents = async () =>
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
  await waitFor('no pending event', async () => (await pendingEvents())?.length === 0);
});

test('a new client id and a reset begin and end no activation', async () => {
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

test('rejected calls publish nothing', async () => {
  await expect(activate('c', imei(99))).rejects.toMatchObject({ code: 'activation_limit' });
  await expect(deactivate()).rejects.toMatchObject({ code: 'device_not_activated' });
  await activate();
  await arrived(1);
  expect(await kinds()).toEqual([[1, ACTIVATED]]);
});

test('while the log is unavailable calls succeed; afterwards the events are published in order', async () => {
  world.logFailure = new DomainError('unavailable', 'away');
  await activate();
  await deactivate();
  await activate();
  expect(await pendingEvents()).toHaveLength(3);
  world.logFailure = undefined;
  world.nowMs += 10_001;
  await arrived(3);
  await waitFor('no pending event', async () => (await pendingEvents())?.length === 0);
  expect(await kinds()).toEqual([
    [1, ACTIVATED],
    [2, DEACTIVATED],
    [3, ACTIVATED],
  ]);
});

test.each(writesOfChange)('after an interruption %s the event is still published', async (point) => {
  world.cutAt = point;
  await expect(activate()).rejects.toMatchObject({ code: 'internal' });
  world.nowMs += 10_001;
  await arrived(1);
  expect((await kinds())[0]).toEqual([1, ACTIVATED]);
});

test('after a crash between publishing and recording it, the same event is published again', async () => {
  world.cutAt = 'after log devices.device-lifecycle';
  await activate();
  await arrived(1);
  world.nowMs += 10_001;
  await arrived(2);
  const [first, second] = await events();
  expect(second).toEqual(first);
  await waitFor('no pending event', async () => (await pendingEvents())?.length === 0);
});

test('pending events are counted until they are in the log', async () => {
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

test('many concurrent changes are published once each, in the order of their activation epochs', async () => {
  for (let n = 0; n < 10; n += 1) {
    await activate();
    await deactivate();
  }
  await arrived(20);
  await waitFor('no pending event', async () => (await pendingEvents())?.length === 0);
  expect((await kinds()).map(([epoch]) => epoch)).toEqual(Array.from({ length: 20 }, (_, n) => n + 1));
});
