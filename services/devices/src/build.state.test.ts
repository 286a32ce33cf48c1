import { create, type MessageInitShape, toBinary } from '@bufbuild/protobuf';
import { topics } from '@headset-cloud/eventlog/types.ts';
import { DeviceReportEventSchema } from '@headset-cloud/proto/device_link/v1/events_pb.ts';
import { waitFor } from '@headset-cloud/runtime/testing/wait.ts';
import { notifications, occurredAtMs, receivedAtMs, report } from './testing/reports.ts';
import { activatedAtMs, callerOf, imei, openWorld, provision, type World } from './testing/world.ts';

/** Applications read only device state that was reported under their own activation (rule A7). */

let world: World;
beforeEach(async () => {
  world = await openWorld();
  await provision(world);
  await provision(world, { name: 'other' });
  await activate('app');
});
afterEach(() => world.close());

const activate = (application: string) =>
  world.devices.activateDevice({ caller: callerOf(application), deviceId: imei(0), clientId: 'c' });
const deactivate = (application: string) =>
  world.devices.deactivateDevice({ caller: callerOf(application), deviceId: imei(0) });
const reset = (application: string) =>
  world.devices.resetDevice({ caller: callerOf(application), deviceId: imei(0) });
const status = async (applicationId = 'app') =>
  withNulls((await world.devices.getDeviceStatus({ applicationId, deviceId: imei(0) })).status);
const listed = async (applicationId: string) =>
  withNulls((await world.devices.listDeviceStatuses({ applicationId })).statuses[0]);

/** Publishes events and waits until the service has handled them. */
async function handled(...events: ReturnType<typeof report>[]) {
  await world.log.publish(topics.deviceReports, events);
  await waitFor('the offset', async () => (await world.log.lag('devices', topics.deviceReports)) === 0);
}
type Hello = Extract<
  NonNullable<MessageInitShape<typeof DeviceReportEventSchema>['body']>,
  { case: 'hello' }
>['value'];
function hello(sessionEpoch: number, activationEpoch: number, value: Hello) {
  const event = create(DeviceReportEventSchema, {
    deviceId: imei(0),
    sessionEpoch: BigInt(sessionEpoch),
    receivedAtMs: BigInt(receivedAtMs),
    activationEpoch: BigInt(activationEpoch),
    body: { case: 'hello', value },
  });
  return { key: imei(0), value: toBinary(DeviceReportEventSchema, event) };
}
const change = (
  activationEpoch: number,
  value: object,
  more: { occurredAtMs?: number; snapshot?: boolean; reportId?: number } = {},
) => report({ case: 'stateChange', value }, { activationEpoch, ...more });
const inventory = (
  activationEpoch: number,
  firmwareVersion: string,
  more: { snapshot?: boolean; reportId?: number; occurredAtMs?: number } = {},
) => report({ case: 'inventory', value: { firmwareVersion } }, { activationEpoch, ...more });

const everything = {
  ...{ power: 'started', wearing: 'device_wear', charging: 'start_charging', batteryPercentage: 80 },
  location: { latitude: 35, longitude: 139 },
};
const shown = {
  ...{ power: 'started', wearing: 'device_wear', charging: 'start_charging', batteryPercentage: 80 },
  ...{ latitude: 35, longitude: 139 },
};
const nothing = {
  ...{ power: null, wearing: null, charging: null, batteryPercentage: null, latitude: null, longitude: null },
  ...{ powerUpdatedAtMs: null, wearingUpdatedAtMs: null, chargingUpdatedAtMs: null },
  ...{ batteryUpdatedAtMs: null, locationUpdatedAtMs: null },
  ...{ firmwareVersion: null, apps: [], languages: [], reported: false },
};
/** Turns absent fields into null, as the API does. */
const withNulls = (status: object | undefined) =>
  Object.fromEntries(Object.keys(nothing).map((name) => [name, Reflect.get(status ?? {}, name) ?? null]));
const software = { firmwareVersion: '9.1', clientVersion: '3.4.0', languages: ['ja'] };

test('the next application sees no state that was reported before its activation', async () => {
  await handled(
    hello(1, 1, software),
    change(1, everything),
    inventory(1, '9.2', { occurredAtMs: receivedAtMs }),
  );
  expect(await status()).toMatchObject({ ...shown, firmwareVersion: '9.2', reported: true });
  await deactivate('app');
  await activate('other');
  expect(await status('other')).toEqual(nothing);
  expect(await listed('other')).toEqual(nothing);
});

test('the same application does not see it either after a deactivation', async () => {
  await handled(hello(1, 1, software), change(1, everything));
  await deactivate('app');
  await activate('app');
  expect(await status()).toEqual(nothing);
});

test('only state that is reported under the new activation is shown', async () => {
  await handled(change(1, everything));
  await deactivate('app');
  await activate('other');
  await handled(change(3, { batteryPercentage: 7 }));
  expect(await status('other')).toEqual({
    ...nothing,
    batteryPercentage: 7,
    batteryUpdatedAtMs: BigInt(occurredAtMs),
  });
});

test('a late report of an earlier activation, or from the time in between, changes nothing that is shown', async () => {
  await deactivate('app');
  await activate('other');
  await handled(change(3, { batteryPercentage: 7 }, { occurredAtMs: activatedAtMs + 1000 }));
  // Later by the headset's clock, which was set back afterwards.
  await handled(
    change(1, everything, { occurredAtMs: activatedAtMs + 5000 }),
    change(2, { power: 'finished' }, { occurredAtMs: activatedAtMs + 6000 }),
    inventory(1, '9.0', { occurredAtMs: activatedAtMs + 7000, reportId: 900 }),
  );
  expect(await status('other')).toEqual({
    ...nothing,
    batteryPercentage: 7,
    batteryUpdatedAtMs: BigInt(activatedAtMs + 1000),
  });
  await handled(inventory(3, '9.3', { occurredAtMs: activatedAtMs + 500, reportId: 800 }));
  expect(await status('other')).toMatchObject({ firmwareVersion: '9.3', batteryPercentage: 7 });
});

test('reports of two activations in one batch, in either order, count for their own activation', async () => {
  await deactivate('app');
  await activate('other');
  await handled(
    change(3, { batteryPercentage: 7 }, { occurredAtMs: activatedAtMs + 1000 }),
    change(1, { batteryPercentage: 99, power: 'started' }, { occurredAtMs: activatedAtMs + 5000 }),
  );
  expect(await status('other')).toEqual({
    ...nothing,
    batteryPercentage: 7,
    batteryUpdatedAtMs: BigInt(activatedAtMs + 1000),
  });
});

test('a late report of the current activation does not overwrite a newer one', async () => {
  await handled(change(1, { batteryPercentage: 50 }, { reportId: 901 }));
  await handled(change(1, { batteryPercentage: 60, power: 'started' }, { reportId: 900 }));
  expect(await status()).toMatchObject({ batteryPercentage: 50, power: 'started' });
});

test('a report of a future activation epoch changes nothing', async () => {
  await handled(change(7, everything), inventory(7, '9.9'));
  await deactivate('app');
  await activate('other');
  expect(await status('other')).toEqual(nothing);
});

test('a hello counts for the activation that was current when its session began', async () => {
  await handled(hello(1, 1, software));
  await deactivate('app');
  await activate('other');
  await handled(hello(2, 3, { ...software, firmwareVersion: '9.4' }));
  expect(await status('other')).toMatchObject({ firmwareVersion: '9.4', languages: ['ja'], reported: true });
  // A late hello of an earlier session.
  await deactivate('other');
  await activate('app');
  await handled(hello(3, 3, software));
  expect(await status()).toEqual(nothing);
});

test('a hello for which the activation could not be read hides nothing', async () => {
  await handled(hello(1, 1, software), hello(2, 0, { ...software, firmwareVersion: '9.5' }));
  expect(await status()).toMatchObject({ firmwareVersion: '9.5', reported: true });
  await deactivate('app');
  await activate('other');
  // The headset's own report has the new activation.
  await handled(hello(3, 0, { ...software, activationEpoch: 2n }));
  expect(await status('other')).toEqual(nothing);
  await handled(hello(4, 0, { ...software, activationEpoch: 3n }));
  expect(await status('other')).toMatchObject({ firmwareVersion: '9.1', reported: true });
});

test('a reset and a repeated activation hide no state', async () => {
  await handled(hello(1, 1, software), change(1, everything));
  await reset('app');
  await activate('app');
  expect(await status()).toMatchObject({ ...shown, firmwareVersion: '9.1' });
  // Afterwards the headset reports under the newer activation epoch, and an older report does not overwrite that.
  await handled(change(2, { batteryPercentage: 1 }, { occurredAtMs: activatedAtMs + 500 }));
  await handled(change(1, { batteryPercentage: 81 }, { occurredAtMs: activatedAtMs + 9000 }));
  expect(await status()).toMatchObject({ ...shown, batteryPercentage: 1 });
});

test('a snapshot sets the state without a notification', async () => {
  await deactivate('app');
  await activate('other');
  await handled(
    change(3, everything, { snapshot: true, reportId: 5 }),
    inventory(3, '9.3', { snapshot: true, reportId: 6 }),
    change(3, { batteryPercentage: 79 }, { reportId: 7, occurredAtMs: activatedAtMs + 2000 }),
  );
  expect(await status('other')).toMatchObject({ ...shown, batteryPercentage: 79, firmwareVersion: '9.3' });
  expect((await notifications(world)).map((one) => one.id)).toEqual([`device-${imei(0)}-7-battery`]);
});

test('versions still decide about operations, but are named only to applications that may read them', async () => {
  await handled(hello(1, 1, { ...software, clientVersion: '2.0.0' }));
  const send = (applicationId: string) =>
    world.devices.sendOperation({
      caller: callerOf(applicationId),
      deviceId: imei(0),
      operationId: 'put-v1-applications-devices-apps-launcher-keys',
      operation: { kind: { case: 'applyLauncherKeys', value: { configJson: '{"key-config":[]}' } } },
    });
  await expect(send('app')).rejects.toMatchObject({
    code: 'invalid_argument',
    message: "The device's client version 2.0.0 is older than 2.1.1, which this operation needs.",
  });
  await deactivate('app');
  await activate('other');
  await expect(send('other')).rejects.toMatchObject({
    code: 'invalid_argument',
    message: "The device's client version is older than 2.1.1, which this operation needs.",
  });
});

test('a firmware downgrade is detected by the known version, which is named only to applications that may read it', async () => {
  const update = (applicationId: string, version: string) =>
    world.devices.sendOperation({
      ...{ caller: callerOf(applicationId), deviceId: imei(0), subject: version },
      operationId: 'put-v1-applications-devices-firmware',
      operation: { kind: { case: 'updateFirmware', value: { version } } },
    });
  await update('app', '1');
  await handled(hello(1, 1, software), inventory(1, '9.002.0', { occurredAtMs: receivedAtMs }));
  await expect(update('app', '9.001.9')).rejects.toMatchObject({
    code: 'invalid_argument',
    message: 'The firmware version 9.001.9 is older than 9.002.0, which the device has.',
  });
  // The same version, with different zeros.
  await update('app', '9.2');
  await deactivate('app');
  await expect(update('app', '1')).rejects.toMatchObject({ code: 'device_not_activated' });
  await activate('other');
  await expect(update('other', '9.001.9')).rejects.toMatchObject({
    code: 'invalid_argument',
    message: 'The firmware version 9.001.9 is older than the one that the device has.',
  });
  await world.applications.updateSettings({ caller: callerOf('other'), remove: ['deviceEvent'] });
  // The device's version is checked before the destination (rule A3).
  await expect(update('other', '9.001.9')).rejects.toMatchObject({ code: 'invalid_argument' });
  await expect(update('other', '9.2')).rejects.toMatchObject({ code: 'destination_not_set' });
});

test('an operator sees the last reported state, whatever its activation, but no location after the activation', async () => {
  await handled(hello(1, 1, software), change(1, everything));
  await deactivate('app');
  const { device } = await world.admin.getDevice({ deviceId: imei(0) });
  const { latitude: _latitude, longitude: _longitude, ...left } = shown;
  expect(device?.status).toMatchObject({ ...left, firmwareVersion: '9.1' });
  expect(device?.status?.latitude).toBeUndefined();
});

test('hardware properties stay known', async () => {
  await handled(hello(1, 1, { ...software, hardware: { macAddressWifi: 'aa', macAddressBluetooth: 'bb' } }));
  await deactivate('app');
  await activate('other');
  const known = await world.devices.getHardwareProperties({ clientId: 'dev-client', deviceId: imei(0) });
  expect(known).toMatchObject({ macAddressWifi: 'aa', macAddressBluetooth: 'bb' });
});
