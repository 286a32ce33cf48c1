import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { toJson } from '@bufbuild/protobuf';
import { openEmbeddedDatabase } from '@headset-cloud/embedded/database.ts';
import { createEmbeddedLog } from '@headset-cloud/embedded/log.ts';
import { createEmbeddedStore } from '@headset-cloud/embedded/store.ts';
import type { Service } from '@headset-cloud/process/service.ts';
import { ConnectivityService } from '@headset-cloud/proto/connectivity/v1/service_pb.ts';
import {
  ConnectivityTarget,
  NetworkType,
  OperationSchema,
} from '@headset-cloud/proto/device_link/v1/device_link_pb.ts';
import { DevicesService, type SendOperationRequest } from '@headset-cloud/proto/devices/v1/service_pb.ts';
import { LocalChannel } from '@headset-cloud/rpc/local.ts';
import { bind, type Client, createClient, type Handlers } from '@headset-cloud/rpc/types.ts';
import { systemClock } from '@headset-cloud/runtime/clock.ts';
import { DomainError } from '@headset-cloud/runtime/errors.ts';
import { createLogger } from '@headset-cloud/runtime/logger.ts';
import { Registry } from 'prom-client';
import { buildConnectivity } from './build.ts';

/**
 * RPC deadline that is longer than a call takes on a slow machine. Only the test's own timeout ends a call that hangs.
 */
const longDeadline = { deadlineMs: 60_000 };

const deviceId = '356938035643809';
const caller = {
  clientId: 'client',
  applicationId: 'app',
  idempotency: { key: 'k', method: 'GET', path: '/p', bodySha256: new Uint8Array([1, 2]) },
};

/** A stand-in for devices: the one RPC that connectivity calls. */
let sent: SendOperationRequest[];
let refusal: DomainError | undefined;

let registry: Registry;
let service: Service;
let client: Client<typeof ConnectivityService>;
let close: () => Promise<void>;

beforeEach(async () => {
  sent = [];
  refusal = undefined;
  registry = new Registry();
  const directory = mkdtempSync(join(tmpdir(), 'connectivity-'));
  const db = openEmbeddedDatabase({ directory });
  const logger = createLogger({ service: 'connectivity', level: 'silent' });
  const log = createEmbeddedLog(db, logger);
  const channel = new LocalChannel();
  const devices: Partial<Handlers<typeof DevicesService>> = {
    sendOperation: async (request) => {
      if (refusal) throw refusal;
      sent.push(request);
      return { transactionId: BigInt(sent.length) };
    },
  };
  service = buildConnectivity(
    {
      logger,
      clock: systemClock,
      store: createEmbeddedStore(db).database('connectivity'),
      log,
      channel: () => channel,
      metrics: registry,
      instanceId: 'test',
    },
    {},
  );
  channel.register([bind(DevicesService, devices as Handlers<typeof DevicesService>), ...service.rpc]);
  client = createClient(ConnectivityService, channel, longDeadline);
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
])('%s sends one operation, with the caller and its Idempotency-Key', async (_, call, operationId, kind) => {
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
])('%j is no MAC address: no operation is sent', async (macAddress) => {
  const wrong = { code: 'invalid_body', message: '/macAddress must be of the form AA:BB:CC:DD:EE:FF.' };
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

test('an error of devices is passed on unchanged', async () => {
  refusal = new DomainError('device_activated_by_other', 'The device is activated by another application.');
  await expect(client.readState({ caller, deviceId })).rejects.toMatchObject({
    code: 'device_activated_by_other',
    message: 'The device is activated by another application.',
  });
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
