import { onEmbedded } from '@headset-cloud/embedded/testing/bed.ts';
import { topics } from '@headset-cloud/eventlog/types.ts';
import { UsageKind } from '@headset-cloud/proto/billing/v1/events_pb.ts';
import {
  BluetoothMode,
  NetworkType,
  UrlRefusal,
} from '@headset-cloud/proto/device_link/v1/device_link_pb.ts';
import { TransactionsService } from '@headset-cloud/proto/transactions/v1/service_pb.ts';
import { createClient } from '@headset-cloud/rpc/types.ts';
import { DomainError } from '@headset-cloud/runtime/errors.ts';
import { waitFor } from '@headset-cloud/runtime/testing/wait.ts';
import { notifications, occurredAtMs, receivedAtMs, report, usage } from './testing/reports.ts';
import { activatedAtMs, atRest, callerOf, imei, openWorld, provision, type World } from './testing/world.ts';

let world: World;
beforeEach(async () => {
  world = await openWorld();
  await provision(world, { limit: 3 });
  await activate('app');
});
afterEach(() => world.close());

const activate = (application: string, deviceId = imei(0)) =>
  world.devices.activateDevice({
    caller: callerOf(application),
    deviceId,
    clientId: `${application} ${deviceId}`,
  });
const deactivate = (application: string) =>
  world.devices.deactivateDevice({ caller: callerOf(application), deviceId: imei(0) });
const publish = (...events: ReturnType<typeof report>[]) => world.log.publish(topics.deviceReports, events);
const signal = (more: Parameters<typeof report>[1] = {}) =>
  report({ case: 'signal', value: { level: 3 } }, more);
const connected = {
  transactionId: 42n,
  statusCode: 200,
  message: 'connected.',
  devices: [
    {
      mode: BluetoothMode.CONNECTED,
      ...{ registered: true, name: 'Phones', alias: 'mine', address: 'AA:BB:CC:DD:EE:FF' },
    },
  ],
};
const published = (count: number) =>
  waitFor(`${count} notifications`, async () => {
    const all = await notifications(world);
    return all.length >= count && all;
  });
/** Publishes, waits until everything has been handled, and returns all notifications. */
async function handled(...events: ReturnType<typeof report>[]) {
  const known = (await notifications(world)).length;
  await publish(...events, signal({ reportId: 999_999, activationEpoch: 1_000_000 }));
  const all = await waitFor('the last report', async () => {
    const now = await notifications(world);
    return now.slice(known).some((one) => one.id.endsWith('-999999')) && now;
  });
  await waitFor('the offset', async () => (await world.log.lag('devices', topics.deviceReports)) === 0);
  return all.filter((one) => !one.id.endsWith('-999999'));
}
const count = async (name: string, labels: Record<string, string>) => {
  const { values } = (await world.metrics.getSingleMetric(name)?.get()) ?? { values: [] };
  return values.find((one) => Object.entries(labels).every(([k, v]) => one.labels[k] === v))?.value ?? 0;
};

// proves cb/3/common, cb/7/destinations
test('a report becomes a notification to deviceEvent under its own id, in the order of its device', async () => {
  await publish(signal({ reportId: 7 }));
  expect(await published(1)).toEqual([
    {
      key: imei(0),
      id: `device-${imei(0)}-7`,
      applicationId: 'app',
      destination: 'DEVICE_EVENT',
      orderKey: `device-${imei(0)}`,
      reportId: 7,
      sequence: 0,
      replaceable: false,
      createdAtMs: receivedAtMs,
      body: {
        applicationId: 'app',
        deviceId: imei(0),
        timestamp: occurredAtMs,
        operationId: 'notify-signal',
        status: 'signal',
        signalLevel: 3,
      },
    },
  ]);
});

test('a state change of several fields becomes one notification for each field except the network, and stays in the status', async () => {
  const all = await handled(
    report(
      {
        case: 'stateChange',
        value: {
          power: 'started',
          wearing: 'device_wear',
          network: 'connectivity_online',
          charging: 'stop_charging',
          batteryPercentage: 100,
          location: { latitude: 35.681236, longitude: -0.5 },
        },
      },
      { reportId: 8 },
    ),
  );
  const common = { applicationId: 'app', deviceId: imei(0), timestamp: occurredAtMs };
  expect(all.map(({ id, body }) => [id, body])).toEqual([
    [`device-${imei(0)}-8-power`, { ...common, operationId: 'notify-boot', status: 'started' }],
    [
      `device-${imei(0)}-8-wearing`,
      { ...common, operationId: 'notify-device-wearing-status', usage: 'device_wear' },
    ],
    [
      `device-${imei(0)}-8-charging`,
      { ...common, operationId: 'notify-battery-charging', usage: 'stop_charging' },
    ],
    [
      `device-${imei(0)}-8-battery`,
      {
        ...common,
        operationId: 'notify-battery-percentage-changed',
        status: 'battery_changed',
        batteryPercentage: 100,
      },
    ],
    [
      `device-${imei(0)}-8-location`,
      { ...common, operationId: 'notify-location', status: 'location', lat: '35.681236', lon: '-0.5' },
    ],
  ]);
  const { status } = await world.devices.getDeviceStatus({ applicationId: 'app', deviceId: imei(0) });
  expect(status).toMatchObject({ power: 'started', batteryPercentage: 100, latitude: 35.681236 });
});

test('the time is the time of the event, but not after its arrival', async () => {
  const all = await handled(
    signal({ occurredAtMs: activatedAtMs }),
    signal({ occurredAtMs: receivedAtMs + 60_000 }),
    signal({ occurredAtMs: 0 }),
  );
  expect(all.map((one) => one.body['timestamp'])).toEqual([activatedAtMs, receivedAtMs, receivedAtMs]);
});

test('reports that other services handle, and reports of unknown devices, cause no notifications', async () => {
  const all = await handled(
    report({ case: 'result', value: { transactionId: 1n, success: true } }),
    report({ case: 'progress', value: { transactionId: 1n, progress: 0.5 } }),
    report({ case: 'appAnswer', value: { transactionId: 1n } }),
    report({ case: 'inventory', value: { firmwareVersion: '1' } }),
    report({ case: undefined }),
    signal({ deviceId: imei(1234) }),
  );
  expect(all).toEqual([]);
});

/** A transaction as the connectivity service creates it. */
const transaction = (
  id: number,
  more: { deviceId?: string; application?: string; operation?: string } = {},
) => {
  const { deviceId = imei(0), application = 'app', operation = 'post' } = more;
  return createClient(TransactionsService, world.channel).createTransaction({
    ...{ transactionId: BigInt(id), deviceId, applicationId: application, activationEpoch: 1n },
    operationId: `${operation}-v1-applications-bluetooth-device`,
  });
};
const connection = (transactionId: number, more: Parameters<typeof report>[1] = {}) =>
  report(
    { case: 'bluetoothConnection', value: { ...connected, transactionId: BigInt(transactionId) } },
    more,
  );

test('a Bluetooth connection names only a pairing of its device and application as its cause', async () => {
  for (const [n, operation] of ['post', 'put', 'delete'].entries()) await transaction(50 + n, { operation });
  await transaction(60, { deviceId: imei(1) });
  await transaction(61, { application: 'other' });
  await transaction(62, { operation: 'get' });
  const named = [50, 51, 52, 60, 61, 62, 63, 0];
  const all = await handled(...named.map((id) => connection(id)));
  expect(all.map(({ body }) => body['transactionId'])).toEqual([50, 51, 52, null, null, null, null, null]);
});

test('for a Bluetooth connection without a cause, or without an application, no transaction is read', async () => {
  await handled(connection(0), signal(), connection(42, { activationEpoch: 0 }));
  expect(world.transactions.asked).toBe(0);
});

test('a Bluetooth connection waits while transactions is unavailable, and is then published completely', async () => {
  await transaction(42);
  world.transactions.away = new DomainError('unavailable', 'A service cannot be reached.');
  await publish(connection(42), signal());
  await waitFor('a question', () => world.transactions.asked > 0);
  expect(await notifications(world)).toEqual([]);
  world.transactions.away = undefined;
  expect((await published(2)).map(({ body }) => body['transactionId'])).toEqual([42, undefined]);
});

// proves cb/3/bluetooth-connection
test('a Bluetooth connection is published completely, in the order of the other reports, and a repeat is identical', async () => {
  const { devices } = connected;
  await transaction(42);
  const paired = connection(42, { reportId: 8 });
  const all = await handled(signal({ reportId: 7 }), paired, signal({ reportId: 9 }), paired);
  expect(all.map(({ reportId, sequence }) => [reportId, sequence])).toEqual([
    ...[7, 8, 9, 8].map((reportId) => [reportId, 0]),
  ]);
  expect(new Set(all.map(({ key, orderKey }) => `${key} ${orderKey}`))).toEqual(
    new Set([`${imei(0)} device-${imei(0)}`]),
  );
  expect(all[3]).toEqual(all[1]);
  expect(all[1]).toMatchObject({
    id: `device-${imei(0)}-8`,
    destination: 'DEVICE_EVENT',
    applicationId: 'app',
  });
  expect(JSON.stringify(all[1]?.body)).toBe(
    JSON.stringify({
      applicationId: 'app',
      deviceId: imei(0),
      timestamp: occurredAtMs,
      transactionId: 42,
      operationId: 'notify-bluetooth-connection',
      message: 'connected.',
      networkType: 'bluetooth',
      statusCode: 200,
      devices: devices.map(({ mode: _, registered, name, alias, address }) => {
        return { status: { mode: 'connected', registered }, name, alias, address };
      }),
    }),
  );
});

describe('recipients of a report', () => {
  test('no application while the device is not activated, or if the report is from before the activation', async () => {
    expect(await handled(signal({ activationEpoch: 0 }))).toEqual([]);
    await deactivate('app');
    await activate('app');
    expect(await handled(signal({ activationEpoch: 1 }), signal({ activationEpoch: 2 }))).toEqual([]);
    expect(await handled(signal({ activationEpoch: 3 }))).toHaveLength(1);
    expect(
      await count('headset_device_reports_dropped_total', { reason: 'not_associated' }),
    ).toBeGreaterThanOrEqual(3);
  });

  test('neither the earlier nor the later application for a report from an earlier application’s time', async () => {
    await provision(world, { name: 'other' });
    await deactivate('app');
    await activate('other');
    const all = await handled(signal({ activationEpoch: 1 }), signal({ activationEpoch: 3, reportId: 5 }));
    expect(all.map((one) => [one.applicationId, one.id])).toEqual([['other', `device-${imei(0)}-5`]]);
  });

  test('after a reset or another client id, reports that waited in the headset are still published', async () => {
    await world.devices.resetDevice({ caller: callerOf('app'), deviceId: imei(0) });
    await world.devices.activateDevice({ caller: callerOf('app'), deviceId: imei(0), clientId: 'new' });
    expect(await handled(signal({ activationEpoch: 1 }))).toHaveLength(1);
  });
});

describe('no notification is lost or published under two ids', () => {
  test('a repeated report has the same id', async () => {
    await publish(signal({ reportId: 7 }), signal({ reportId: 7 }));
    const [first, second] = await published(2);
    expect(second).toEqual(first);
  });

  test('after a crash before the offset is committed, everything is published again under the same ids', async () => {
    world.cutAt = 'after log devices.notifications';
    await publish(signal({ reportId: 7 }), signal({ reportId: 8 }));
    const all = await published(4);
    expect(all.map((one) => one.id)).toEqual([7, 8, 7, 8].map((n) => `device-${imei(0)}-${n}`));
  });

  test('while the log is unavailable the reports wait', async () => {
    world.logFailure = new DomainError('unavailable', 'away');
    await publish(signal({ reportId: 7 }));
    await waitFor('an attempt', () => world.logFailures > 0);
    expect(await world.log.lag('devices', topics.deviceReports)).toBe(1);
    world.logFailure = undefined;
    await published(1);
  });
});

test('the longest texts, with the longest escapes, are published in parts that a broker accepts', async () => {
  const customData = '\u0001'.repeat(70_000);
  const all = await handled(
    ...Array.from({ length: 6 }, () => report({ case: 'customData', value: { customData } })),
  );
  expect(all.map((one) => String(one.body['customData']).length)).toEqual(all.map(() => 65_536));
  expect(all).toHaveLength(6);
  expect(Math.max(...world.publishedBytes)).toBeGreaterThan(6 * 65_536);
  expect(Math.max(...world.publishedBytes)).toBeLessThan(900_000);
});

onEmbedded('a batch of many devices costs one lookup', async () => {
  await activate('app', imei(1));
  await activate('app', imei(2));
  // The activations' pending work and pending audit records read documents, too, so wait until they are done.
  await atRest(world);
  // While a first report waits for the log, the others queue up. They form one batch on any machine.
  world.logFailure = new DomainError('unavailable', 'unavailable');
  await publish(signal({ deviceId: imei(0) }));
  await waitFor('an attempt', () => world.logFailures > 0);
  await publish(...[0, 1, 2, 0, 1, 2].map((n) => signal({ deviceId: imei(n) })));
  const before = world.documentsExamined();
  world.logFailure = undefined;
  await published(7);
  // One read for each device of the batch, and two for the last tries of the first report.
  expect(world.documentsExamined() - before).toBeLessThanOrEqual(3 + 2);
});

describe('file uploads', () => {
  const file = `app/${imei(0)}/upload_files/a/b.jpg`;
  const upload = (value: { file: string; failure?: UrlRefusal; sizeBytes?: bigint }, reportId = 7) =>
    report({ case: 'fileUpload', value: { sizeBytes: 5n, ...value } }, { reportId });
  const body = (more: object) => ({
    applicationId: 'app',
    deviceId: imei(0),
    timestamp: occurredAtMs,
    ...more,
  });

  // proves cb/3/file-upload, cb/8/file-reasons
  test.each([
    [undefined, 'success', 'upload success.'],
    [UrlRefusal.SIZE, 'failure', 'The file size is over the limit.'],
    [UrlRefusal.NOT_ASSOCIATED, 'failure', 'The device is not associated with the application.'],
    [UrlRefusal.NO_SIGNED_URL, 'failure', 'The signed URL could not be obtained.'],
    [UrlRefusal.UPLOAD_FAILED, 'failure', 'The upload to the signed URL failed.'],
    [UrlRefusal.UNAVAILABLE, 'failure', 'The signed URL could not be obtained.'],
    [UrlRefusal.NOT_FOUND, 'failure', 'The signed URL could not be obtained.'],
    [99 as UrlRefusal, 'failure', 'The upload to the signed URL failed.'],
    [UrlRefusal.SIZE, 'failure', 'The signed URL could not be obtained because the file is empty.', 0n],
    [UrlRefusal.NOT_ASSOCIATED, 'failure', 'The device is not associated with the application.', 0n],
    [undefined, 'success', 'upload success.', 1n],
    [undefined, 'success', 'upload success.', 20_971_520n],
    [undefined, 'failure', 'The file size is over the limit.', 20_971_521n],
    [undefined, 'failure', 'The signed URL could not be obtained because the file is empty.', 0n],
    [undefined, 'failure', 'The signed URL could not be obtained because the file is empty.', -5n],
  ])('the end %s is sent to fileUploadEvent as %s: %s', async (failure, result, message, sizeBytes = 5n) => {
    await publish(upload({ file, sizeBytes, ...(failure !== undefined && { failure }) }));
    expect(await published(1)).toEqual([
      {
        key: imei(0),
        id: `device-${imei(0)}-7`,
        applicationId: 'app',
        destination: 'FILE_UPLOAD_EVENT',
        orderKey: `device-${imei(0)}`,
        reportId: 7,
        sequence: 0,
        replaceable: false,
        createdAtMs: receivedAtMs,
        body: body({ result, file, message }),
      },
    ]);
  });

  // proves cb/3/file-path
  test.each([
    `other/${imei(0)}/upload_files/a`,
    `app/${imei(1)}/upload_files/a`,
    `app/${imei(0)}/upload_files/../a`,
    'a',
  ])('for the path %s only the current application is notified, of a failure', async (path) => {
    await provision(world, { name: 'other' });
    await publish(upload({ file: path }));
    const message = 'The device is not associated with the application.';
    expect((await published(1)).map((one) => [one.applicationId, one.body])).toEqual([
      ['app', body({ result: 'failure', file: path, message })],
    ]);
  });
});

describe('speech recognition', () => {
  const speech = (durationMs: number, more: Parameters<typeof report>[1] = {}, startedAtMs = occurredAtMs) =>
    report(
      {
        case: 'speechUsage',
        value: { startedAtMs: BigInt(startedAtMs), durationMs: BigInt(durationMs) },
      },
      more,
    );

  test('its use is published for billing under the report’s own id', async () => {
    await publish(speech(60_000, { reportId: 7 }));
    const [event] = await waitFor('usage', async () => {
      const all = await usage(world);
      return all.length > 0 && all;
    });
    expect(event).toMatchObject({
      key: imei(0),
      usageId: `speech-${imei(0)}-7`,
      applicationId: 'app',
      deviceId: imei(0),
      kind: UsageKind.SPEECH_RECOGNITION,
      startedAtMs: BigInt(occurredAtMs),
      durationMs: 60_000n,
    });
  });

  test('it is charged to the application that had the device at that time', async () => {
    await provision(world, { name: 'other' });
    await world.devices.resetDevice({ caller: callerOf('app'), deviceId: imei(0) });
    await deactivate('app');
    await activate('other');
    await handled(...[0, 1, 2, 3, 4].map((activationEpoch) => speech(1, { activationEpoch })));
    expect((await usage(world)).map((one) => one.applicationId)).toEqual(['app', 'app', 'other']);
  });

  test('impossible values are not charged; a time after the arrival is replaced by the arrival', async () => {
    const day = 24 * 60 * 60 * 1000;
    await handled(
      speech(0),
      speech(-1),
      speech(day + 1),
      speech(day),
      speech(1000, {}, receivedAtMs + 50_000),
      speech(1000, {}, 2 ** 62),
    );
    expect((await usage(world)).map((one) => [Number(one.startedAtMs), Number(one.durationMs)])).toEqual([
      [occurredAtMs, day],
      [receivedAtMs - 1000, 1000],
      [receivedAtMs - 1000, 1000],
    ]);
    expect((await usage(world)).map((one) => one.reportedStartedAtMs)).toEqual([
      ...[undefined, BigInt(receivedAtMs + 50_000)],
      BigInt(Number.MAX_SAFE_INTEGER),
    ]);
  });

  test('a repeat with a different replaced start keeps the reported start', async () => {
    const startedAtMs = receivedAtMs + 50_000;
    const arriving = (atMs: number) => speech(1000, { reportId: 7, receivedAtMs: atMs }, startedAtMs);
    await handled(arriving(receivedAtMs), arriving(startedAtMs + 1000), arriving(receivedAtMs - 5000));
    const reported = (await usage(world)).map((one) => [
      one.usageId,
      Number(one.startedAtMs),
      one.reportedStartedAtMs,
    ]);
    const id = `speech-${imei(0)}-7`;
    expect(reported).toEqual([
      [id, receivedAtMs - 1000, BigInt(startedAtMs)],
      [id, startedAtMs, undefined],
      [id, receivedAtMs - 6000, BigInt(startedAtMs)],
    ]);
  });
});

// rule A24
describe('a slow clock of a headset', () => {
  const speech = (startedAtMs: number, more: Parameters<typeof report>[1] = {}) =>
    report(
      { case: 'speechUsage', value: { startedAtMs: BigInt(startedAtMs), durationMs: 1000n } },
      { receivedAtMs: activatedAtMs + 60_000, ...more },
    );
  const starts = async () => (await usage(world)).map((one) => Number(one.startedAtMs) - activatedAtMs);
  const weeks1024 = 1024 * 7 * 86_400_000;

  test.each([
    ['absent', 0],
    ['before 1970', -5],
    ['in 1970', 5000],
    ['1024 weeks ago', activatedAtMs + 59_000 - weeks1024],
    ['in the month before the activation', activatedAtMs - 20 * 86_400_000],
    ['just before the activation', activatedAtMs - 1],
    ['too long ago for a number', -(2 ** 62)],
  ])('a use that began %s is charged as if it had just ended', async (_, startedAtMs) => {
    await handled(speech(startedAtMs));
    expect(await starts()).toEqual([59_000]);
    const reported = Math.max(startedAtMs, Number.MIN_SAFE_INTEGER);
    expect((await usage(world)).map((one) => one.reportedStartedAtMs)).toEqual([BigInt(reported)]);
    const counted = await count('headset_device_times_replaced_total', {
      time: 'speech_usage',
      reason: 'past',
    });
    expect(counted).toBe(startedAtMs === 0 ? 0 : 1);
  });

  test('no use is charged before the activation, whatever its length', async () => {
    await handled(speech(0, { receivedAtMs: activatedAtMs + 500 }), speech(activatedAtMs, {}));
    expect(await starts()).toEqual([0, 0]);
  });

  test('the activation of the report’s epoch counts, even if it has ended', async () => {
    await provision(world, { name: 'other' });
    world.nowMs += 10_000;
    await world.devices.resetDevice({ caller: callerOf('app'), deviceId: imei(0) });
    await deactivate('app');
    world.nowMs += 10_000;
    await activate('other');
    const at = (activationEpoch: number) => speech(activatedAtMs + 5000, { activationEpoch });
    await handled(at(1), at(2), at(4));
    expect(await starts()).toEqual([5000, 5000, 59_000]);
    await handled(speech(activatedAtMs - 1, { activationEpoch: 1 }));
    expect((await starts()).at(-1)).toBe(59_000);
  });

  test('a report is dated by its arrival, in its notification and in the device’s status', async () => {
    const old = { occurredAtMs: activatedAtMs - 1 };
    const sent = await handled(
      report({ case: 'stateChange', value: { charging: 'start_charging' } }, old),
      signal({ occurredAtMs: receivedAtMs + 1 }),
    );
    expect(sent.map(({ body }) => body['timestamp'])).toEqual([receivedAtMs, receivedAtMs]);
    const { status } = await world.devices.getDeviceStatus({ applicationId: 'app', deviceId: imei(0) });
    expect(Number(status?.chargingUpdatedAtMs)).toBe(receivedAtMs);
    for (const reason of ['past', 'future'])
      expect(await count('headset_device_times_replaced_total', { time: 'report', reason })).toBe(1);
  });
});

test('reports and notifications are counted', async () => {
  await handled(signal(), report({ case: 'networkLevel', value: { networkType: NetworkType.APN } }));
  await waitFor(
    'the count',
    async () => (await count('headset_device_reports_total', { kind: 'signal' })) > 0,
  );
  expect(await count('headset_device_reports_total', { kind: 'networkLevel' })).toBe(1);
  expect(await count('headset_device_reports_dropped_total', { reason: 'out_of_specification' })).toBe(1);
  expect(await count('headset_device_notifications_total', { kind: 'notify-signal' })).toBeGreaterThanOrEqual(
    1,
  );
});
