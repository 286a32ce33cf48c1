import { create, type MessageInitShape, toBinary } from '@bufbuild/protobuf';
import { onEmbedded } from '@headset-cloud/embedded/testing/bed.ts';
import { deadLetterTopic, topics } from '@headset-cloud/eventlog/types.ts';
import { DeviceReportEventSchema } from '@headset-cloud/proto/device_link/v1/events_pb.ts';
import { waitFor } from '@headset-cloud/runtime/testing/wait.ts';
import { activatedAtMs, atRest, callerOf, imei, openWorld, provision, type World } from './testing/world.ts';

let world: World;
beforeEach(async () => {
  world = await openWorld();
  await provision(world);
  await world.devices.activateDevice({ caller: callerOf('app'), deviceId: imei(0), clientId: 'c' });
});
afterEach(() => world.close());

type ReportEvent = MessageInitShape<typeof DeviceReportEventSchema>;
const receivedAtMs = 1_800_000_000_000n;
const at = (ms: number) => BigInt(activatedAtMs + ms);

function event(body: ReportEvent['body'], more: ReportEvent = {}, deviceId = imei(0)) {
  const message = create(DeviceReportEventSchema, { deviceId, receivedAtMs, body, ...more });
  return { key: deviceId, value: toBinary(DeviceReportEventSchema, message) };
}
const change = (atMs: number, value: object, reportId = 1n) =>
  event({
    case: 'report',
    value: {
      ...{ reportId, activationEpoch: 1n, occurredAtMs: at(atMs) },
      body: { case: 'stateChange', value },
    },
  });
const publish = (...events: ReturnType<typeof event>[]) => world.log.publish(topics.deviceReports, events);
const status = async (deviceId = imei(0)) =>
  (await world.devices.getDeviceStatus({ applicationId: 'app', deviceId })).status;

test('before the first hello everything is unknown', async () => {
  expect(await status()).toMatchObject({ deviceId: imei(0), reported: false, apps: [] });
  expect((await status())?.power).toBeUndefined();
});

test('hello and state changes make up the status, each field with its own time', async () => {
  await publish(
    event(
      {
        case: 'hello',
        value: {
          firmwareVersion: '9.1',
          apps: [{ package: 'a.b', version: '1.0' }],
          languages: ['ja', 'en'],
          hardware: { macAddressWifi: 'aa', macAddressBluetooth: 'bb', modelIdentifier: 'm' },
        },
      },
      { sessionEpoch: 3n, activationEpoch: 1n },
    ),
    change(1000, { power: 'started', batteryPercentage: 80 }),
    change(2000, { wearing: 'device_wear', location: { latitude: 35.5, longitude: 139.5 } }),
  );
  await waitFor('the reports', async () => (await world.log.lag('devices', topics.deviceReports)) === 0);
  expect(await status()).toMatchObject({
    reported: true,
    firmwareVersion: '9.1',
    apps: [{ package: 'a.b', version: '1.0' }],
    languages: ['ja', 'en'],
    power: 'started',
    powerUpdatedAtMs: at(1000),
    batteryPercentage: 80,
    batteryUpdatedAtMs: at(1000),
    wearingUpdatedAtMs: at(2000),
    latitude: 35.5,
    locationUpdatedAtMs: at(2000),
  });
});

test('an older report never overwrites a newer one, in one batch or in two', async () => {
  await publish(
    change(5000, { power: 'started' }, 5n),
    change(4000, { power: 'finished', charging: 'stop_charging' }, 4n),
  );
  await waitFor('the first batch', async () => (await status())?.charging);
  await publish(change(6500, { power: 'finished' }, 3n), change(6000, { charging: 'start_charging' }, 6n));
  await waitFor('the second batch', async () => (await status())?.charging === 'start_charging');
  expect(await status()).toMatchObject({ power: 'started', powerUpdatedAtMs: at(5000) });
});

test('the newest report counts, although a wrong clock dates it a day before the others', async () => {
  const day = 86_400_000;
  await publish(change(5000 + day, { power: 'finished', batteryPercentage: 40 }, 1n));
  await waitFor('the first', async () => (await status())?.power);
  await publish(
    change(6000, { power: 'started' }, 2n),
    change(7000 + day, { wearing: 'device_wear' }, 3n),
    change(8000, { wearing: 'device_takeoff' }, 4n),
  );
  await waitFor('the next', async () => (await status())?.wearing);
  expect(await status()).toMatchObject({
    ...{ power: 'started', powerUpdatedAtMs: at(6000), batteryPercentage: 40 },
    ...{ wearing: 'device_takeoff', wearingUpdatedAtMs: at(8000) },
  });
});

test('a fast clock of a headset does not hide later changes', async () => {
  await publish(change(Number(receivedAtMs) + 10_000_000, { power: 'started' }));
  await waitFor('the first', async () => (await status())?.power);
  await publish(change(Number(receivedAtMs), { power: 'finished' }, 2n));
  await waitFor('the second', async () => (await status())?.power === 'finished');
});

test('an older session does not overwrite a newer one’s report', async () => {
  const hello = (sessionEpoch: bigint, firmwareVersion: string) =>
    event({ case: 'hello', value: { firmwareVersion } }, { sessionEpoch, activationEpoch: 1n });
  await publish(hello(5n, 'new'));
  await waitFor('the hello', async () => (await status())?.reported);
  await publish(hello(4n, 'old'), change(1, { power: 'started' }));
  await waitFor('the change', async () => (await status())?.power);
  expect((await status())?.firmwareVersion).toBe('new');
});

test('report ids decide which software is the newest, whatever the headset’s clock', async () => {
  const day = 86_400_000;
  const inventory = (reportId: bigint, atMs: number, firmwareVersion: string, sessionEpoch: bigint) =>
    event(
      {
        case: 'report',
        value: {
          ...{ reportId, occurredAtMs: BigInt(atMs), activationEpoch: 1n },
          body: { case: 'inventory', value: { firmwareVersion } },
        },
      },
      { sessionEpoch },
    );
  const hello = (lastReportId: bigint, firmwareVersion: string, sessionEpoch: bigint) =>
    event({ case: 'hello', value: { firmwareVersion, lastReportId } }, { sessionEpoch, activationEpoch: 1n });
  const shows = (version: string) =>
    waitFor(version, async () => (await status())?.firmwareVersion === version);
  await publish(hello(4n, 'at the hello', 5n));
  await shows('at the hello');
  await publish(inventory(5n, Number(receivedAtMs) - day, 'a day early', 5n));
  await shows('a day early');
  await publish(hello(5n, 'at the next hello', 6n));
  await shows('at the next hello');
  await publish(inventory(5n, Number(receivedAtMs) + day, 'sent again', 6n), change(1, { power: 'started' }));
  await waitFor('the change', async () => (await status())?.power);
  expect((await status())?.firmwareVersion).toBe('at the next hello');
});

// protects against stores/poison
test('results, unknown devices and unknown values cause no writes; undecodable bytes become dead letters', async () => {
  const result = {
    case: 'report' as const,
    value: { reportId: 2n, body: { case: 'result' as const, value: { transactionId: 1n } } },
  };
  await publish(
    event(result),
    event({ case: 'hello', value: { firmwareVersion: '1' } }, {}, imei(1234)),
    { key: imei(0), value: new Uint8Array([255, 255, 255]) },
    change(7000, { power: 'exploded', wearing: 'device_takeoff', batteryPercentage: 101 }),
  );
  await waitFor('the last event', async () => (await status())?.wearing);
  expect((await status())?.power).toBeUndefined();
  expect((await status())?.batteryPercentage).toBeUndefined();
  expect(await world.log.readNewest(deadLetterTopic(topics.deviceReports), 10)).toHaveLength(1);
  expect((await world.admin.listDevices({ limit: 1000 })).devices).toHaveLength(3);
});

onEmbedded('statuses are listed for the devices activated now, in pages, by index', async () => {
  const deviceIds = Array.from({ length: 40 }, (_, n) => imei(n));
  await world.admin.putContract({ applicationId: 'app', activationLimit: 100, addDeviceIds: deviceIds });
  for (let n = 1; n < 25; n += 1) {
    const caller = callerOf('app');
    await world.devices.activateDevice({ caller, deviceId: imei(n), clientId: `c${n}` });
  }
  await atRest(world);
  const before = world.documentsExamined();
  const first = await world.devices.listDeviceStatuses({ applicationId: 'app', limit: 10 });
  expect(world.documentsExamined() - before).toBeLessThanOrEqual(12);
  expect(first.more).toBe(true);
  const afterDeviceId = first.statuses.at(-1)?.deviceId ?? '';
  const rest = await world.devices.listDeviceStatuses({ applicationId: 'app', afterDeviceId, limit: 100 });
  expect(rest.more).toBe(false);
  expect([...first.statuses, ...rest.statuses].map((one) => one.deviceId)).toEqual(deviceIds.slice(0, 25));
});

test('the status of a device that the application has not activated is rejected', async () => {
  await expect(status(imei(1))).rejects.toMatchObject({ code: 'device_not_activated' });
  const other = world.devices.getDeviceStatus({ applicationId: 'other', deviceId: imei(0) });
  await expect(other).rejects.toMatchObject({ code: 'device_activated_by_other' });
});

test('unknown and never activated devices are read as not activated; a device of another application is 403', async () => {
  const read = (deviceId: string, applicationId = 'app') =>
    world.devices.getActivation({ applicationId, deviceId });
  expect(await read(imei(999))).toMatchObject({ deviceId: imei(999), activated: false });
  expect((await read(imei(1))).clientId).toBeUndefined();
  await expect(read(imei(0), 'other')).rejects.toMatchObject({ code: 'device_activated_by_other' });
});
