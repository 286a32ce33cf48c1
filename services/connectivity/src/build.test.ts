import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { create, fromBinary, type MessageInitShape, toBinary, toJson } from '@bufbuild/protobuf';
import { systemClock } from '@headset-cloud/kit/clock.ts';
import { openEmbeddedDatabase } from '@headset-cloud/kit/embedded/database.ts';
import { createEmbeddedLog } from '@headset-cloud/kit/embedded/log.ts';
import { createEmbeddedStore } from '@headset-cloud/kit/embedded/store.ts';
import { DomainError } from '@headset-cloud/kit/errors.ts';
import { deadLetterTopic, type EventLog, topics } from '@headset-cloud/kit/eventlog/types.ts';
import { createLogger } from '@headset-cloud/kit/logger.ts';
import { LocalChannel } from '@headset-cloud/kit/rpc/local.ts';
import { bind, type Client, createClient, type Handlers } from '@headset-cloud/kit/rpc/types.ts';
import { createSecretBox } from '@headset-cloud/kit/secrets.ts';
import type { Service } from '@headset-cloud/kit/service.ts';
import { waitFor } from '@headset-cloud/kit/testing/wait.ts';
import { ConnectivityService } from '@headset-cloud/proto/connectivity/v1/service_pb.ts';
import {
  BluetoothMode,
  ConnectivityTarget,
  NetworkType,
  OperationSchema,
  type ReportSchema,
} from '@headset-cloud/proto/device_link/v1/device_link_pb.ts';
import { DeviceReportEventSchema } from '@headset-cloud/proto/device_link/v1/events_pb.ts';
import { DevicesService, type SendOperationRequest } from '@headset-cloud/proto/devices/v1/service_pb.ts';
import {
  Destination,
  type NotificationEvent,
  NotificationEventSchema,
} from '@headset-cloud/proto/notifier/v1/events_pb.ts';
import { Registry } from 'prom-client';
import { buildConnectivity } from './build.ts';

const deviceId = '356938035643809';
const caller = {
  clientId: 'client',
  applicationId: 'app',
  idempotency: { key: 'k', method: 'GET', path: '/p', bodySha256: new Uint8Array([1, 2]) },
};

/** devices by its contract alone: two RPCs. */
let sent: SendOperationRequest[];
let refusal: DomainError | undefined;
let associations: Map<string, { applicationId: string; sinceEpoch: bigint }>;
let away: number;
let asked: string[];

let registry: Registry;
let log: EventLog;
let service: Service;
let client: Client<typeof ConnectivityService>;
let close: () => Promise<void>;

beforeEach(async () => {
  sent = [];
  refusal = undefined;
  associations = new Map([[deviceId, { applicationId: 'app', sinceEpoch: 3n }]]);
  away = 0;
  asked = [];
  registry = new Registry();
  const directory = mkdtempSync(join(tmpdir(), 'connectivity-'));
  const db = openEmbeddedDatabase({ directory });
  const logger = createLogger({ service: 'connectivity', level: 'silent' });
  log = createEmbeddedLog(db, logger);
  const channel = new LocalChannel();
  const devices: Partial<Handlers<typeof DevicesService>> = {
    sendOperation: async (request) => {
      if (refusal) throw refusal;
      sent.push(request);
      return { transactionId: BigInt(sent.length) };
    },
    getAssociation: async ({ deviceId: id }) => {
      asked.push(id);
      if (away-- > 0) throw new DomainError('unavailable', 'away');
      if (id === 'unknown') throw new DomainError('not_found', 'unknown');
      return associations.get(id) ?? { applicationId: '', sinceEpoch: 0n };
    },
  };
  service = buildConnectivity(
    {
      logger,
      clock: systemClock,
      store: createEmbeddedStore(db).database('connectivity'),
      log,
      channel: () => channel,
      secrets: createSecretBox('a test secret of more than thirty-two characters'),
      metrics: registry,
      failpoints: () => {},
      instanceId: 'test',
    },
    {},
  );
  channel.register([bind(DevicesService, devices as Handlers<typeof DevicesService>), ...service.rpc]);
  client = createClient(ConnectivityService, channel);
  await service.start();
  close = async () => {
    await service.stop();
    await log.close();
    await db.close();
    rmSync(directory, { recursive: true });
  };
});
afterEach(() => close());

const mac = { given: 'aa:bb:0c:DD:ee:9f', normal: 'AA:BB:0C:DD:EE:9F' };

test.each<[string, () => Promise<{ transactionId: bigint }>, string, object]>([
  [
    'list',
    () =>
      client.listConnectivity({
        caller,
        deviceId,
        networkType: NetworkType.APN,
        target: ConnectivityTarget.CONNECTED,
      }),
    'get-v1-applications-connectivity-list',
    { listConnectivity: { networkType: 'NETWORK_TYPE_APN', target: 'CONNECTIVITY_TARGET_CONNECTED' } },
  ],
  [
    'list as it is by default',
    () => client.listConnectivity({ caller, deviceId }),
    'get-v1-applications-connectivity-list',
    { listConnectivity: { networkType: 'NETWORK_TYPE_BLUETOOTH', target: 'CONNECTIVITY_TARGET_AVAILABLE' } },
  ],
  [
    'read the state',
    () => client.readState({ caller, deviceId }),
    'get-v1-applications-connectivity-state',
    { readConnectivityState: { networkType: 'NETWORK_TYPE_BLUETOOTH' } },
  ],
  [
    'switch on',
    () => client.changeState({ caller, deviceId, enabled: true }),
    'put-v1-applications-connectivity-state',
    { setConnectivityState: { networkType: 'NETWORK_TYPE_BLUETOOTH', enabled: true } },
  ],
  [
    'switch off',
    () => client.changeState({ caller, deviceId, enabled: false }),
    'put-v1-applications-connectivity-state',
    { setConnectivityState: { networkType: 'NETWORK_TYPE_BLUETOOTH' } },
  ],
  [
    'reset',
    () => client.resetConnectivity({ caller, deviceId }),
    'delete-v1-applications-connectivity-reset',
    { resetConnectivity: { networkType: 'NETWORK_TYPE_BLUETOOTH' } },
  ],
  [
    'pair',
    () => client.addPairing({ caller, deviceId, macAddress: mac.given }),
    'post-v1-applications-bluetooth-device',
    { addPairing: { macAddress: mac.normal } },
  ],
  [
    'connect',
    () => client.changePairing({ caller, deviceId, macAddress: mac.given, connect: true }),
    'put-v1-applications-bluetooth-device',
    { changePairing: { macAddress: mac.normal, connect: true } },
  ],
  [
    'disconnect',
    () => client.changePairing({ caller, deviceId, macAddress: mac.given, connect: false }),
    'put-v1-applications-bluetooth-device',
    { changePairing: { macAddress: mac.normal } },
  ],
  [
    'forget',
    () => client.deletePairing({ caller, deviceId, macAddress: mac.given }),
    'delete-v1-applications-bluetooth-device',
    { deletePairing: { macAddress: mac.normal } },
  ],
])('%s makes one operation, with the caller and its Idempotency-Key', async (_, call, operationId, kind) => {
  expect(await call()).toMatchObject({ transactionId: 1n });
  expect(sent).toHaveLength(1);
  const [request] = sent;
  expect(request).toMatchObject({ caller, deviceId, operationId, subject: '' });
  expect(request?.operation && toJson(OperationSchema, request.operation)).toEqual(kind);
});

test.each([
  '',
  'AA:BB:CC:DD:EE',
  'AA:BB:CC:DD:EE:FF:00',
  'AA-BB-CC-DD-EE-FF',
  'AABBCCDDEEFF',
  'AA:BB:CC:DD:EE:FG',
  ' AA:BB:CC:DD:EE:FF',
  'AA:BB:CC:DD:EE:FF\n',
])('%j is no MAC address: nothing is made', async (macAddress) => {
  const wrong = { code: 'invalid_body', message: '/macAddress is not of the form AA:BB:CC:DD:EE:FF' };
  await expect(client.addPairing({ caller, deviceId, macAddress })).rejects.toMatchObject(wrong);
  await expect(client.changePairing({ caller, deviceId, macAddress })).rejects.toMatchObject(wrong);
  await expect(client.deletePairing({ caller, deviceId, macAddress })).rejects.toMatchObject(wrong);
  expect(sent).toEqual([]);
});

test('mobile networks and unknown targets are not listed', async () => {
  await expect(
    client.listConnectivity({ caller, deviceId, networkType: NetworkType.MOBILE }),
  ).rejects.toMatchObject({ code: 'invalid_argument', message: expect.stringContaining('networkType') });
  await expect(
    client.listConnectivity({ caller, deviceId, target: 9 as ConnectivityTarget }),
  ).rejects.toMatchObject({ code: 'invalid_argument', message: expect.stringContaining('target') });
  expect(sent).toEqual([]);
});

test("devices' refusal goes on as it is", async () => {
  refusal = new DomainError('device_activated_by_other', 'The device is activated by another application.');
  await expect(client.readState({ caller, deviceId })).rejects.toMatchObject({
    code: 'device_activated_by_other',
    message: 'The device is activated by another application.',
  });
});

const arrived = 1_800_000_000_000;
const headphones = { registered: true, name: 'Phones', alias: 'mine', address: 'AA:BB:CC:DD:EE:FF' };

function report(given: MessageInitShape<typeof ReportSchema> & { device?: string } = {}) {
  const device = given.device ?? deviceId;
  const value = toBinary(
    DeviceReportEventSchema,
    create(DeviceReportEventSchema, {
      deviceId: device,
      receivedAtMs: BigInt(arrived),
      body: {
        case: 'report',
        value: {
          reportId: 7n,
          occurredAtMs: BigInt(arrived - 1000),
          activationEpoch: 3n,
          body: {
            case: 'bluetoothConnection',
            value: {
              transactionId: 42n,
              statusCode: 200,
              message: 'connected.',
              devices: [{ ...headphones, mode: BluetoothMode.CONNECTED }],
            },
          },
          ...given,
        },
      },
    }),
  );
  return { key: device, value };
}

async function notifications(): Promise<NotificationEvent[]> {
  const events = await log.readNewest(topics.notifications, 1000);
  return events.map((event) => fromBinary(NotificationEventSchema, event.value));
}

async function handle(...events: { key: string; value: Uint8Array; headers?: Record<string, string> }[]) {
  await log.publish(topics.deviceReports, events);
  await waitFor('the reports are consumed', async () => {
    return (await log.lag('connectivity', topics.deviceReports)) === 0;
  });
  return notifications();
}

const bodyOf = (notification: NotificationEvent | undefined) =>
  JSON.parse(Buffer.from(notification?.body ?? []).toString());

// proves cb/3/bluetooth-connection
test('a connection is told to the application that has the device, whole and under the id of its report', async () => {
  const traceparent = '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01';
  const [notification, ...more] = await handle({ ...report(), headers: { traceparent } });
  expect(more).toEqual([]);
  expect(notification).toMatchObject({
    notificationId: `device-${deviceId}-7`,
    applicationId: 'app',
    destination: Destination.DEVICE_EVENT,
    createdAtMs: BigInt(arrived),
    replaceable: false,
    traceparent,
  });
  expect(Buffer.from(notification?.body ?? []).toString()).toBe(
    JSON.stringify({
      applicationId: 'app',
      deviceId,
      timestamp: arrived - 1000,
      transactionId: 42,
      operationId: 'notify-bluetooth-connection',
      message: 'connected.',
      networkType: 'bluetooth',
      statusCode: 200,
      devices: [
        {
          status: { mode: 'connected', registered: true },
          name: 'Phones',
          alias: 'mine',
          address: 'AA:BB:CC:DD:EE:FF',
        },
      ],
    }),
  );
});

// proves cb/8/connection-codes
test('what the specification does not know is held to what it knows', async () => {
  const modes = [
    BluetoothMode.DISCONNECTED,
    BluetoothMode.DETECTED,
    BluetoothMode.DELETED,
    BluetoothMode.UNSPECIFIED,
  ];
  const devices = modes.map((mode) => ({ ...headphones, mode }));
  const connection = (transactionId: bigint, statusCode: number) =>
    ({ case: 'bluetoothConnection', value: { transactionId, statusCode, devices } }) as const;
  const found = await handle(
    report({ reportId: 1n, occurredAtMs: BigInt(arrived + 1), body: connection(0n, 404) }),
    report({ reportId: 2n, occurredAtMs: 0n, body: connection(-1n, 0) }),
    report({ reportId: 3n, body: connection(2n ** 60n, 500) }),
  );
  expect(found.map(bodyOf)).toMatchObject([
    { transactionId: null, statusCode: 500, timestamp: arrived },
    { transactionId: null, statusCode: 500, timestamp: arrived },
    { transactionId: null, statusCode: 500, timestamp: arrived - 1000 },
  ]);
  for (const body of found.map(bodyOf)) {
    expect(body.devices.map((device: { status: { mode: string } }) => device.status.mode)).toEqual(
      modes.map(() => 'disconnected'),
    );
  }
});

test('texts and the list of devices are bounded, and no character is cut in two', async () => {
  const long = `${'x'.repeat(127)}\u{1F600}`;
  const devices = Array.from({ length: 257 }, () => ({
    name: long,
    alias: 'y'.repeat(128),
    address: 'z'.repeat(129),
  }));
  const value = { statusCode: 200, message: 'm'.repeat(1025), devices };
  const [body] = (await handle(report({ body: { case: 'bluetoothConnection', value } }))).map(bodyOf);
  expect(body.message).toBe('m'.repeat(1024));
  expect(body.devices).toEqual(
    Array.from({ length: 256 }, () => ({
      status: { mode: 'disconnected', registered: false },
      name: 'x'.repeat(127),
      alias: 'y'.repeat(128),
      address: 'z'.repeat(128),
    })),
  );
});

test('what happened before the activation, or without one, is told to nobody', async () => {
  associations.set('deactivated', { applicationId: '', sinceEpoch: 0n });
  const found = await handle(
    report({ reportId: 1n, activationEpoch: 2n }),
    report({ reportId: 2n, activationEpoch: 3n }),
    report({ reportId: 3n, activationEpoch: 4n }),
    report({ device: 'deactivated' }),
    report({ device: 'unknown' }),
  );
  expect(found.map(({ notificationId }) => notificationId)).toEqual([
    `device-${deviceId}-2`,
    `device-${deviceId}-3`,
  ]);
});

test('a report that comes again gives the same notification, byte for byte', async () => {
  await handle(report());
  const found = await handle(report());
  expect(found).toHaveLength(2);
  expect(found[1]).toEqual(found[0]);
});

test('devices away: the reports wait and none is lost; a device is asked about once in a batch', async () => {
  away = 2;
  const found = await handle(...Array.from({ length: 50 }, (_, n) => report({ reportId: BigInt(n) })));
  expect(found).toHaveLength(50);
  expect(asked.length).toBeLessThan(10);
});

test('other reports are none of its business; what cannot be read goes to the dead letters', async () => {
  const found = await handle(
    report({ body: { case: 'bluetoothSwitch', value: { enabled: true } } }),
    { key: deviceId, value: Buffer.from('no message') },
    report({ reportId: 9n }),
  );
  expect(found.map(({ notificationId }) => notificationId)).toEqual([`device-${deviceId}-9`]);
  expect(await log.readNewest(deadLetterTopic(topics.deviceReports), 10)).toHaveLength(1);
});

const samples = async (name: string) =>
  (await registry.getSingleMetricAsString(name))
    .split('\n')
    .filter((line) => line !== '' && !line.startsWith('#'));

test('calls are counted by outcome, and timed', async () => {
  await client.readState({ caller, deviceId });
  await client.readState({ caller, deviceId });
  refusal = new DomainError('unavailable', 'away');
  await expect(client.readState({ caller, deviceId })).rejects.toMatchObject({ code: 'unavailable' });
  await expect(client.addPairing({ caller, deviceId, macAddress: 'no' })).rejects.toMatchObject({
    code: 'invalid_body',
  });
  expect(await samples('headset_connectivity_calls_total')).toEqual([
    'headset_connectivity_calls_total{call="readState",outcome="ok"} 2',
    'headset_connectivity_calls_total{call="readState",outcome="unavailable"} 1',
    'headset_connectivity_calls_total{call="addPairing",outcome="invalid_body"} 1',
  ]);
  const timed = await samples('headset_connectivity_call_seconds');
  expect(timed.filter((line) => line.includes('_count'))).toEqual([
    'headset_connectivity_call_seconds_count{call="readState"} 3',
    'headset_connectivity_call_seconds_count{call="addPairing"} 1',
  ]);
});

test('connections that headsets report are counted, those of nobody’s application apart', async () => {
  await handle(report());
  associations.clear();
  await handle(report());
  expect(await samples('headset_bluetooth_reports_total')).toEqual([
    'headset_bluetooth_reports_total{outcome="published"} 1',
    'headset_bluetooth_reports_total{outcome="not_associated"} 1',
  ]);
});
