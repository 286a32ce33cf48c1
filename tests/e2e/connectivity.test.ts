import type { DeviceContent } from '@headset-cloud/demo/headset/content.ts';
import type { Headset } from '@headset-cloud/demo/headset/headset.ts';
import { BluetoothMode, type Result } from '@headset-cloud/proto/device_link/v1/device_link_pb.ts';
import { waitFor } from '@headset-cloud/runtime/testing/wait.ts';
import { reports } from '../conformance/faults/fault.ts';
import { ago, createTenant, describeOnStack, type Tenant } from './harness.ts';

const phones = { name: 'Phones', alias: 'mine', address: 'AA:BB:CC:DD:EE:01' };
const watch = { name: 'Watch', alias: '', address: 'AA:BB:CC:DD:EE:02' };
const lost = { name: 'Lost', alias: '', address: 'AA:BB:CC:DD:EE:03' };
const content: Partial<DeviceContent> = {
  bluetoothOn: true,
  bluetoothDevices: [
    { ...phones, paired: true, connected: true },
    { ...watch, paired: false, connected: false },
    { ...lost, paired: true, connected: false, around: false },
  ],
  wifi: [{ ssid: 'office' }, { ssid: 'home', security: 'WPA' }],
  wifiAround: [
    { ssid: 'office', level: 4, security: 'WPA' },
    { ssid: 'cafe', level: 1, security: 'NONE' },
  ],
  apns: [{ name: 'first' }, { name: 'second' }],
  signalLevel: 2,
};
const seen = (device: typeof phones, mode: string, registered: boolean) => ({
  status: { mode, registered },
  ...device,
});
const network = (
  name: string,
  mode: string,
  registered: boolean,
  level: number,
  networkId: number,
  security: string,
) => ({ status: { mode, registered }, level, name, networkId, security });

describeOnStack('connectivity', () => {
  let tenant: Tenant;
  let headset: Headset;
  /** Changes the headset's next results. */
  let falsify: (result: Result) => unknown = () => {};
  let path: string;
  let deviceId: string;
  beforeAll(async () => {
    tenant = await createTenant();
    deviceId = tenant.devices[0]?.deviceId ?? '';
    path = `/devices/${deviceId}/connectivity`;
    const activation = await tenant.activate();
    headset = tenant.headset(undefined, { content }, [reports('result', (result) => falsify(result))]);
    headset.connect();
    await tenant.ended(activation);
  });
  beforeEach(() => {
    headset.changeContent(content);
    falsify = () => {};
  });
  afterAll(() => tenant.close());

  /** The callbacks of a transaction, without the connections that it has caused. */
  const ofOperation = (id: number) =>
    tenant.callbacks(id).filter(({ body }) => body.operationId !== 'notify-bluetooth-connection');

  /** Runs an operation; returns the extras of its result's callback, after checking all other fields. */
  async function result(method: string, below: string, body?: unknown) {
    const before = Date.now();
    const answer = await tenant.call(201, method, `${path}${below}`, body);
    const { transactionId } = answer.body;
    expect(answer.body).toEqual({ transactionId });
    expect(answer.headers['location']).toBe(
      `/v1/applications/${tenant.applicationId}/transactions/${transactionId}`,
    );
    const end = await waitFor('the result', () =>
      ofOperation(transactionId).find((callback) => 'statusCode' in callback.body),
    );
    expect(ofOperation(transactionId).map((callback) => callback.body.notificationType)).toEqual([
      'accepted',
      undefined,
    ]);
    expect(await tenant.status(transactionId)).toBe('processed');
    const { body: listed } = await tenant.call(200, 'GET', `/transactions/${transactionId}`);
    const { applicationId, deviceId: of, timestamp, transactionId: id, operationId, ...extras } = end.body;
    expect([applicationId, of, id, operationId]).toEqual([
      ...[tenant.applicationId, deviceId, transactionId, listed.operationId],
    ]);
    expect(Number.isInteger(timestamp) && timestamp >= before - 1000 && timestamp <= Date.now()).toBe(true);
    return { operationId, ...extras };
  }

  const listId = 'get-v1-applications-connectivity-list';
  const listing = (networkType: string, target: string, extras: object) => ({
    ...{ operationId: listId, message: 'listed', networkType, target, statusCode: 200, ...extras },
  });

  // proves api/5/connectivity-target, api/7/connectivity-list
  // proves cb/3/op-connectivity-list, cb/3/connectivity-list, cb/3/bluetooth-device
  it.each([
    ['', 'available', [seen(watch, 'detected', false)]],
    ['?target=available', 'available', [seen(watch, 'detected', false)]],
    ['?target=connected', 'connected', [seen(phones, 'connected', true)]],
    [
      '?target=all&networkType=bluetooth',
      'all',
      [seen(phones, 'connected', true), seen(watch, 'detected', false), seen(lost, 'disconnected', true)],
    ],
  ])('the list of Bluetooth devices %s', async (query, target, devices) => {
    expect(await result('GET', query)).toEqual(listing('bluetooth', target, { devices }));
  });

  // proves cb/3/connectivity-list-devices, cb/3/network
  it.each([
    [
      'wifi',
      'all',
      [
        network('office', 'connected', true, 4, 0, 'WPA'),
        network('cafe', 'available', false, 1, -1, 'NONE'),
        network('home', 'unavailable', true, 0, 1, 'WPA'),
      ],
    ],
    ['wifi', 'connected', [network('office', 'connected', true, 4, 0, 'WPA')]],
    [
      'apn',
      'all',
      [network('first', 'connected', true, 2, 0, 'NONE'), network('second', 'available', true, 2, 1, 'NONE')],
    ],
    ['apn', 'available', [network('second', 'available', true, 2, 1, 'NONE')]],
  ])('the list of networks: %s, %s', async (networkType, target, networks) => {
    expect(await result('GET', `?networkType=${networkType}&target=${target}`)).toEqual(
      listing(networkType, target, { networks }),
    );
  });

  // proves api/3/connectivity-state, api/4/bluetooth-switch, api/7/get-state, api/7/put-state
  // proves cb/3/op-get-state, cb/3/op-put-state, cb/3/on-off
  it('Bluetooth is switched off and on, and its state is read', async () => {
    const state = async (method: string, body?: object) => result(method, '/bluetooth/state', body);
    const is = (operationId: string, message: string, now: string) => ({
      ...{ operationId, message, networkType: 'bluetooth', statusCode: 200, state: now },
    });
    const [get, put] = ['get-v1-applications-connectivity-state', 'put-v1-applications-connectivity-state'];
    expect(await state('GET')).toEqual(is(get, 'enabled', 'enabled'));
    expect(await state('PUT', { state: 'disabled' })).toEqual(is(put, 'disabled', 'disabled'));
    expect(headset.device.state.bluetoothOn).toBe(false);
    expect(await state('GET')).toEqual(is(get, 'disabled', 'disabled'));
    expect(await result('GET', '')).toEqual({
      ...{ operationId: listId, message: 'Bluetooth is off.', networkType: 'bluetooth', target: 'available' },
      ...{ statusCode: 403, devices: [] },
    });
    expect(await state('PUT', { state: 'enabled' })).toEqual(is(put, 'enabled', 'enabled'));
    expect(headset.device.state.bluetoothOn).toBe(true);
  });

  // proves api/7/connectivity-reset, cb/3/op-reset, cb/3/reset
  it('Bluetooth is reset', async () => {
    expect(await result('DELETE', '/bluetooth/reset')).toEqual({
      ...{ operationId: 'delete-v1-applications-connectivity-reset', message: 'reset' },
      ...{ networkType: 'bluetooth', statusCode: 200 },
    });
    expect(headset.device.state.bluetoothDevices.some((device) => device.paired)).toBe(false);
  });

  const pairing = (operation: string, message: string, statusCode: number, devices: object[] = []) => ({
    ...{ operationId: `${operation}-v1-applications-bluetooth-device`, message },
    ...{ networkType: 'bluetooth', statusCode, devices },
  });

  // proves api/3/pairing-body, api/3/pairing-update, api/4/pairing-switch
  // proves api/7/pairing-add, api/7/pairing-change, api/7/pairing-delete
  // proves cb/3/op-post-bluetooth, cb/3/op-put-bluetooth, cb/3/op-delete-bluetooth, cb/3/pairing, cb/3/pairing-modes
  it('a device is paired, disconnected, connected and forgotten; the address may be in lower case', async () => {
    const macAddress = watch.address.toLowerCase();
    expect(await result('POST', '/bluetooth', { macAddress })).toEqual(
      pairing('post', 'paired', 200, [seen(watch, 'connected', true)]),
    );
    expect(await result('PUT', '/bluetooth', { macAddress, state: 'disconnect' })).toEqual(
      pairing('put', 'disconnected', 200, [seen(watch, 'disconnected', true)]),
    );
    expect(await result('PUT', '/bluetooth', { macAddress, state: 'connect' })).toEqual(
      pairing('put', 'connected', 200, [seen(watch, 'connected', true)]),
    );
    expect(await result('DELETE', '/bluetooth', { macAddress })).toEqual(
      pairing('delete', 'unpaired', 200, [seen(watch, 'deleted', false)]),
    );
  });

  it('a failed pairing is reported with its status code', async () => {
    const { address: macAddress } = phones;
    expect(await result('POST', '/bluetooth', { macAddress })).toMatchObject({
      statusCode: 409,
      devices: [],
    });
    const unknown = { macAddress: '00:00:00:00:00:00' };
    expect(await result('POST', '/bluetooth', unknown)).toMatchObject({ statusCode: 404 });
    expect(await result('DELETE', '/bluetooth', unknown)).toMatchObject({ statusCode: 404 });
    headset.changeContent({ bluetoothOn: false });
    const connect = { macAddress, state: 'connect' };
    expect(await result('PUT', '/bluetooth', connect)).toMatchObject({ statusCode: 403, devices: [] });
  });

  // proves cb/8/list-codes, cb/8/on-off-codes, cb/8/reset-codes, cb/8/pairing-codes
  it.each([
    ['GET', '', undefined, [200, 403, 500], { devices: expect.any(Array) }],
    ['GET', '/bluetooth/state', undefined, [200, 400, 500], { state: 'enabled' }],
    ['PUT', '/bluetooth/state', { state: 'enabled' }, [200, 400, 500], { state: 'enabled' }],
    ['DELETE', '/bluetooth/reset', undefined, [200, 500], {}],
    [
      'POST',
      '/bluetooth',
      { macAddress: watch.address },
      [200, 400, 403, 404, 409, 500],
      { devices: expect.any(Array) },
    ],
    [
      'PUT',
      '/bluetooth',
      { macAddress: phones.address, state: 'connect' },
      [200, 400, 403, 404, 409, 500],
      { devices: expect.any(Array) },
    ],
    [
      'DELETE',
      '/bluetooth',
      { macAddress: phones.address },
      [200, 400, 403, 404, 409, 500],
      { devices: expect.any(Array) },
    ],
  ])(
    '%s %s: every status code of the specification is passed on, others become 500',
    async (method, below, body, known, extras) => {
      for (const code of [...known, 401, 418, 503]) {
        headset.changeContent(content);
        falsify = ({ connectivity }) => Object.assign(connectivity ?? {}, { statusCode: code });
        const statusCode = (known as number[]).includes(code) ? code : 500;
        expect(await result(method, below, body)).toMatchObject({ statusCode, ...extras });
      }
    },
  );

  it('a headset that reports no result becomes status 500 without content', async () => {
    falsify = (result) => {
      delete result.connectivity;
    };
    expect(await result('GET', '')).toMatchObject({ statusCode: 500, devices: [] });
    expect(await result('GET', '?networkType=wifi')).toMatchObject({ statusCode: 500, networks: [] });
    expect(await result('GET', '/bluetooth/state')).toMatchObject({ statusCode: 500, state: 'unknown' });
  });

  describe('a rejected call creates nothing', () => {
    let before: unknown;
    beforeEach(async () => {
      before = await tenant.transactions();
    });
    afterEach(async () => expect(await tenant.transactions()).toEqual(before));

    // proves api/5/connectivity-type, api/8/400-connectivity-type
    it.each([
      ['GET', '/wifi/state', undefined],
      ['GET', '/mobile/state', undefined],
      ['PUT', '/wifi/state', { state: 'enabled' }],
      ['DELETE', '/mobile/reset', undefined],
      ['GET', '?target=nearby', undefined],
      ['GET', '?target=', undefined],
      ['GET', '?networkType=mobile', undefined],
      ['GET', '?networkType=wifi&networkType=apn', undefined],
    ])('%s %s is 400', async (method, below, body) => {
      await tenant.call(400, method, `${path}${below}`, body);
    });

    it.each([
      ['POST', '/bluetooth', {}, '/macAddress'],
      ['POST', '/bluetooth', { macAddress: 'AA:BB:CC:DD:EE' }, '/macAddress'],
      ['POST', '/bluetooth', { macAddress: 'AA-BB-CC-DD-EE-FF' }, '/macAddress'],
      ['POST', '/bluetooth', { macAddress: 1 }, '/macAddress'],
      ['PUT', '/bluetooth', { macAddress: watch.address }, '/state'],
      ['PUT', '/bluetooth', { macAddress: watch.address, state: 'enabled' }, '/state'],
      ['PUT', '/bluetooth', { macAddress: 'GG:BB:CC:DD:EE:FF', state: 'connect' }, '/macAddress'],
      ['DELETE', '/bluetooth', { macAddress: '' }, '/macAddress'],
      ['DELETE', '/bluetooth', undefined, ''],
      ['PUT', '/bluetooth/state', { state: 'on' }, '/state'],
      ['PUT', '/bluetooth/state', {}, '/state'],
    ])('%s %s %j is 400 and names the field', async (method, below, body, field) => {
      const { body: answer, headers } = await tenant.call(400, method, `${path}${below}`, body);
      expect(answer).toEqual({ message: 'Invalid request body' });
      expect(String(headers['x-error-detail'])).toContain(field);
    });
  });

  it('a repeat with the same Idempotency-Key makes no second transaction', async () => {
    const body = { macAddress: watch.address };
    const key = { 'Idempotency-Key': `k-${Date.now()}` };
    const [first, second] = [
      await tenant.call(201, 'POST', `${path}/bluetooth`, body, key),
      await tenant.call(201, 'POST', `${path}/bluetooth`, body, key),
    ];
    expect(second.body).toEqual(first.body);
    await tenant.call(422, 'POST', `${path}/bluetooth`, { macAddress: phones.address }, key);
  });

  // proves cb/3/bluetooth-connection, cb/8/connection-codes
  it('a connection that the headset reports is sent once, with its cause or null', async () => {
    const called = async (method: string, at: string, body?: object): Promise<number> => {
      const id = (await tenant.call(201, method, `${path}${at}`, body)).body.transactionId;
      await waitFor('its result', () => ofOperation(id).some(({ body: end }) => 'statusCode' in end));
      return id;
    };
    const paired = await called('PUT', '/bluetooth', { macAddress: phones.address, state: 'connect' });
    const listed = await called('GET', '');
    const webhookIdOf = (id: number) => `device-${deviceId}-${id}`;
    const found = () => tenant.integrator.received.filter((r) => ids.map(webhookIdOf).includes(r.webhookId));
    const occurredAtMs = ago(1000);
    const report = (transactionId: bigint, statusCode: number, mode: BluetoothMode) =>
      headset.report(
        {
          case: 'bluetoothConnection',
          value: {
            transactionId,
            statusCode,
            message: 'm',
            devices: [{ ...phones, mode, registered: true }],
          },
        },
        { occurredAtMs },
      );
    const ids = [
      report(BigInt(paired), 200, BluetoothMode.CONNECTED),
      report(0n, 500, BluetoothMode.DISCONNECTED),
      report(BigInt(listed), 200, BluetoothMode.CONNECTED),
      report(BigInt(paired) + 1_000_000n, 200, BluetoothMode.CONNECTED),
    ];
    await waitFor('all have arrived', () => found().length === ids.length);
    const byId = new Map(found().map((one) => [one.webhookId, one.body]));
    const common = {
      ...{ applicationId: tenant.applicationId, deviceId, timestamp: occurredAtMs },
      ...{ operationId: 'notify-bluetooth-connection', message: 'm', networkType: 'bluetooth' },
    };
    expect(byId.get(`device-${deviceId}-${ids[0]}`)).toEqual({
      ...common,
      ...{ transactionId: paired, statusCode: 200, devices: [seen(phones, 'connected', true)] },
    });
    // A transaction that is no pairing of this headset is not the cause, whatever the headset reports.
    for (const id of ids.slice(2)) expect(byId.get(webhookIdOf(id))).toMatchObject({ transactionId: null });
    expect(byId.get(`device-${deviceId}-${ids[1]}`)).toEqual({
      ...common,
      ...{ transactionId: null, statusCode: 500, devices: [seen(phones, 'disconnected', true)] },
    });
  });

  // proves api/6/client-connectivity
  it('a client older than 2.3.1 is rejected with both versions; 2.3.1 is accepted', async () => {
    const old = await createTenant();
    try {
      const activation = await old.activate();
      const below = `/devices/${old.devices[0]?.deviceId}/connectivity`;
      const aged = old.headset(undefined, { clientVersion: '2.3.0' });
      aged.connect();
      await old.ended(activation);
      const status = `/devices/${old.devices[0]?.deviceId}/status`;
      await waitFor('the hello', async () => (await old.call(200, 'GET', status)).body.firmware !== null);
      const { body } = await old.call(400, 'GET', below);
      expect(body.message).toMatch(/2\.3\.0.*2\.3\.1/);
      await aged.close();
      const young = old.headset(undefined, { clientVersion: '2.3.1' });
      young.connect();
      await waitFor('the session', () => young.sessionEpoch > 0);
      await waitFor('the new version is known', async () => (await old.api.app('GET', below)).status === 201);
    } finally {
      await old.close();
    }
  });
});
