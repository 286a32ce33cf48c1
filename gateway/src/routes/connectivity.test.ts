import { create, type DescMessage, type MessageInitShape } from '@bufbuild/protobuf';
import {
  AddPairingRequestSchema,
  ChangePairingRequestSchema,
  ChangeStateRequestSchema,
  DeletePairingRequestSchema,
  ListConnectivityRequestSchema,
  ReadStateRequestSchema,
  ResetConnectivityRequestSchema,
} from '@headset-cloud/proto/connectivity/v1/service_pb.ts';
import { ConnectivityTarget, NetworkType } from '@headset-cloud/proto/device_link/v1/device_link_pb.ts';
import { DomainError } from '@headset-cloud/runtime/errors.ts';
import { describe, expect, test } from '@jest/globals';
import { deviceId } from '../testing/fakes.ts';
import { useGateway } from '../testing/suite.ts';

const suite = useGateway();
const { send, refused } = suite;
const app = '/v1/applications/app-1';
const path = `${app}/devices/${deviceId}/connectivity`;
const caller = { clientId: 'client-1', applicationId: 'app-1' };
const message = (text: string) => JSON.parse(text).message as string;
const mac = '02:00:00:aF:00:0A';

function expectAsked<D extends DescMessage>(rpc: string, schema: D, more: object = {}): void {
  expect(suite.asked(rpc, schema)).toEqual(
    create(schema, { caller, deviceId, ...more } as unknown as MessageInitShape<D>),
  );
}

/** Every call creates a transaction: 201 and Location, including the GETs (rule A2). */
async function expectTransaction(id: number, method: string, at: string, body?: unknown): Promise<void> {
  const answer = await send(method, at, body);
  expect([answer.status, answer.text, answer.headers['location']]).toEqual([
    201,
    `{"transactionId":${id}}`,
    `${app}/transactions/${id}`,
  ]);
}

describe('list', () => {
  // proves api/7/connectivity-list
  test('lists available Bluetooth devices by default', async () => {
    await expectTransaction(201, 'GET', path);
    expectAsked('listConnectivity', ListConnectivityRequestSchema, {
      networkType: NetworkType.BLUETOOTH,
      target: ConnectivityTarget.AVAILABLE,
    });
  });
  test.each([
    ['bluetooth', NetworkType.BLUETOOTH],
    ['wifi', NetworkType.WIFI],
    ['apn', NetworkType.APN],
  ])('networkType %s is passed on', async (name, networkType) => {
    await expectTransaction(201, 'GET', `${path}?networkType=${name}&target=all`);
    const target = ConnectivityTarget.ALL;
    expectAsked('listConnectivity', ListConnectivityRequestSchema, { networkType, target });
  });
  // proves api/5/connectivity-target
  test.each([
    ['all', ConnectivityTarget.ALL],
    ['connected', ConnectivityTarget.CONNECTED],
    ['available', ConnectivityTarget.AVAILABLE],
  ])('target %s is passed on', async (name, target) => {
    await expectTransaction(201, 'GET', `${path}?target=${name}`);
    const networkType = NetworkType.BLUETOOTH;
    expectAsked('listConnectivity', ListConnectivityRequestSchema, { networkType, target });
  });
  test.each([
    ['target=none', 'The query parameter target must be one of all, connected, available.'],
    ['target=', 'The query parameter target must be one of all, connected, available.'],
    ['target=all&target=all', 'The query parameter target is given twice.'],
    ['networkType=mobile', 'The query parameter networkType must be one of bluetooth, wifi, apn.'],
    ['networkType=Wifi', 'The query parameter networkType must be one of bluetooth, wifi, apn.'],
  ])('%s is 400', async (query, text) => {
    const answer = await send('GET', `${path}?${query}`);
    expect([answer.status, message(answer.text)]).toEqual([400, text]);
    expect(suite.asked('listConnectivity', ListConnectivityRequestSchema)).toBeUndefined();
  });
});

describe('state and reset', () => {
  // proves api/7/get-state
  test('the state is read', async () => {
    await expectTransaction(202, 'GET', `${path}/bluetooth/state`);
    expectAsked('readState', ReadStateRequestSchema);
  });
  // proves api/3/connectivity-state, api/7/put-state
  test.each(['enabled', 'disabled'])('the state becomes %s', async (state) => {
    await expectTransaction(203, 'PUT', `${path}/bluetooth/state`, { state });
    expectAsked('changeState', ChangeStateRequestSchema, { enabled: state === 'enabled' });
  });
  // proves api/7/connectivity-reset
  test('connections are reset', async () => {
    await expectTransaction(204, 'DELETE', `${path}/bluetooth/reset`);
    expectAsked('resetConnectivity', ResetConnectivityRequestSchema);
  });
  test('the body of a change is checked', async () => {
    const at = `${path}/bluetooth/state`;
    await refused('PUT', at, {}, '/state is required.');
    for (const wrong of ['unknown', 'Enabled', ''])
      await refused('PUT', at, { state: wrong }, '/state must be one of enabled, disabled.');
    for (const wrong of [true, null, 1])
      await refused('PUT', at, { state: wrong }, '/state must be a string.');
    await refused('PUT', at, { state: 'enabled', other: 1 }, '/other is not a known field.');
    await refused('PUT', at, '"enabled"', 'must be an object.');
  });

  const calls = [
    ['GET', 'state'],
    ['PUT', 'state'],
    ['DELETE', 'reset'],
  ];
  // proves api/5/connectivity-type, api/8/400-connectivity-type
  test.each(
    calls.flatMap(([method, end]) =>
      ['wifi', 'mobile', 'apn', 'Bluetooth', 'x'].map((t) => [method, t, end]),
    ),
  )('%s of the type %s (%s) is 400, before the body is checked', async (method, type, end) => {
    const answer = await send(method as string, `${path}/${type}/${end}`, method === 'PUT' ? '{' : undefined);
    expect([answer.status, message(answer.text)]).toEqual([
      400,
      'The path parameter type is not supported: only bluetooth is.',
    ]);
    expect(answer.headers['x-error-detail']).toBeUndefined();
  });
  test('a wrong device id is reported before an unsupported type', async () => {
    const answer = await send('GET', `${app}/devices/x/connectivity/wifi/state`);
    expect([answer.status, message(answer.text)]).toEqual([404, 'The path parameter deviceId is not valid.']);
  });
  test('an unsupported type is reported before an error of the devices service', async () => {
    suite.fakes.answers.readState = async () => {
      throw new DomainError('device_not_activated', 'The device is not activated.');
    };
    expect((await send('GET', `${path}/wifi/state`)).status).toBe(400);
    expect((await send('GET', `${path}/bluetooth/state`)).status).toBe(403);
  });
});

describe('pairing', () => {
  const at = `${path}/bluetooth`;
  // proves api/3/pairing-body, api/7/pairing-add
  test('a device is added', async () => {
    await expectTransaction(205, 'POST', at, { macAddress: mac });
    expectAsked('addPairing', AddPairingRequestSchema, { macAddress: mac });
  });
  // proves api/3/pairing-update, api/4/pairing-switch, api/7/pairing-change
  test.each(['connect', 'disconnect'])('%s is passed on', async (state) => {
    await expectTransaction(206, 'PUT', at, { macAddress: mac, state });
    const connect = state === 'connect';
    expectAsked('changePairing', ChangePairingRequestSchema, { macAddress: mac, connect });
  });
  // proves api/7/pairing-delete
  test('a device is deleted: the body of a DELETE is read', async () => {
    await expectTransaction(207, 'DELETE', at, { macAddress: mac });
    expectAsked('deletePairing', DeletePairingRequestSchema, { macAddress: mac });
  });
  test('a DELETE without body is rejected', async () => {
    const answer = await send('DELETE', at);
    expect([answer.status, answer.headers['x-error-detail']]).toEqual([
      400,
      'Content-Type is missing; it must be application/json.',
    ]);
  });

  test.each([
    ['POST', {}],
    ['PUT', { state: 'connect' }],
    ['DELETE', {}],
  ])('%s: macAddress is required and has its form', async (method, rest) => {
    await refused(method, at, rest, '/macAddress is required.');
    for (const wrong of [
      '',
      '02:00:00:00:00',
      '02:00:00:00:00:0G',
      '02-00-00-00-00-0A',
      '02000000000A',
      `${mac}:00`,
      ` ${mac}`,
    ])
      await refused(
        method,
        at,
        { ...rest, macAddress: wrong },
        '/macAddress must be of the form AA:BB:CC:DD:EE:FF.',
      );
    for (const wrong of [null, 1, [mac]])
      await refused(method, at, { ...rest, macAddress: wrong }, '/macAddress must be a string.');
    await refused(method, at, { ...rest, macAddress: mac, other: 1 }, '/other is not a known field.');
  });
  test('a change needs its state', async () => {
    await refused('PUT', at, { macAddress: mac }, '/state is required.');
    for (const wrong of ['enabled', 'Connect', ''])
      await refused(
        'PUT',
        at,
        { macAddress: mac, state: wrong },
        '/state must be one of connect, disconnect.',
      );
    await refused('PUT', at, { macAddress: mac, state: true }, '/state must be a string.');
    await refused('POST', at, { macAddress: mac, state: 'connect' }, '/state is not a known field.');
  });
});
