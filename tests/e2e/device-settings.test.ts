import { languageInUse } from '@headset-cloud/demo/headset/content.ts';
import type { Headset } from '@headset-cloud/demo/headset/headset.ts';
import { waitFor } from '@headset-cloud/runtime/testing/wait.ts';
import { admin, createTenant, describeOnStack, type Tenant } from './harness.ts';

const canceledByReset = 'The transaction was canceled because it occurred before reset.';

describeOnStack('settings, uninstallation and reset of a device', () => {
  let tenant: Tenant;
  let headset: Headset;
  const apps = [
    { package: 'com.example.guide', version: '2.0' },
    { package: 'com.example.other', version: '1.0' },
  ];
  beforeAll(async () => {
    tenant = await createTenant({ devices: 8 });
    headset = tenant.headset(undefined, { apps });
    headset.connect();
    await tenant.ended(await tenant.activate());
  });
  afterAll(() => tenant.close());

  const at = (path: string, of = headset.deviceId) => `/devices/${of}${path}`;
  /** Makes the call, and compares its answer and both callbacks with the complete forms. */
  async function applied(
    method: string,
    path: string,
    body: unknown,
    operationId: string,
    end: Readonly<Record<string, unknown>>,
    of = headset,
  ): Promise<void> {
    const answer = await tenant.call(201, method, at(path, of.deviceId), body);
    const { transactionId } = answer.body;
    expect(answer.body).toEqual({ transactionId: expect.any(Number) });
    expect(answer.headers['location']).toBe(
      `/v1/applications/${tenant.applicationId}/transactions/${transactionId}`,
    );
    await tenant.ended(transactionId);
    const common = {
      applicationId: tenant.applicationId,
      deviceId: of.deviceId,
      timestamp: expect.any(Number),
      transactionId,
      operationId,
    };
    expect(tenant.callbacks(transactionId).map((c) => c.body)).toEqual([
      {
        ...common,
        notificationType: 'accepted',
        result: 'success',
        message: 'The device has started the operation.',
      },
      { ...common, notificationType: 'processed', ...end },
    ]);
    expect(await tenant.status(transactionId)).toBe('processed');
  }
  const success = (message: string) => ({ result: 'success', message });
  const refused = async (method: string, path: string, body: unknown) => {
    const before = await tenant.transactions();
    const answer = await tenant.call(400, method, at(path), body);
    expect(answer.body).toEqual({ message: 'Invalid request body' });
    expect(answer.headers['x-error-detail']).toEqual(expect.stringMatching(/^[\x20-\x7e]+$/));
    expect(await tenant.transactions()).toEqual(before);
  };

  describe('APN', () => {
    const required = { name: 'Carrier', apn: 'internet', mcc: '440', mnc: '10' };
    const operationId = 'put-v1-applications-devices-settings-apn';

    it('every field reaches the headset unchanged', async () => {
      const texts = ['proxy', 'port', 'user', 'server', 'password', 'mmsc', 'mmsproxy', 'mmsport', 'type'];
      const more = ['protocol', 'carrierEnabled', 'roamingProtocol', 'mvnoType', 'mvnoMatchData'];
      const all = Object.fromEntries([...texts, ...more].map((name) => [name, `値 ${name}`]));
      const numbers = { authType: 3, bearer: 0, bearerBitmask: 2 ** 31 - 1 };
      const list = [{ ...required, ...all, ...numbers }, required];
      await applied('PUT', '/settings/apn', list, operationId, success('applied'));
      const inProtobuf = { authType: '3', bearer: '0', bearerBitmask: String(2 ** 31 - 1) };
      expect(headset.device.state.apns).toEqual([{ ...required, ...all, ...inProtobuf }, required]);
    });

    it('texts have at most 100 characters', async () => {
      const long = 'あ'.repeat(100);
      const list = [{ name: long, apn: long, mcc: long, mnc: long, proxy: long }];
      await applied('PUT', '/settings/apn', list, operationId, success('applied'));
      expect(headset.device.state.apns).toEqual(list);
    });

    it.each([
      ['an empty list', []],
      ['an entry without mnc', [{ ...required, mnc: undefined }]],
      ['an empty name', [{ ...required, name: '' }]],
      ['a name of 101 characters', [{ ...required, name: 'x'.repeat(101) }]],
      ['a proxy of 101 characters', [{ ...required, proxy: 'x'.repeat(101) }]],
      ['an authType that is a text', [{ ...required, authType: '3' }]],
      ['an object', required],
    ])('%s is refused and nothing is created', (_, body) => refused('PUT', '/settings/apn', body));
  });

  describe('Wi-Fi', () => {
    const operationId = 'put-v1-applications-devices-settings-wifi';

    // Rule A22.
    it('a list of 1 MiB reaches the headset; a list with one more byte is 413', async () => {
      const entry = { ssid: 's'.repeat(32), password: 'p'.repeat(1000), security: 'WPA' };
      const list = Array.from({ length: 970 }, () => entry);
      const text = JSON.stringify(list).padEnd(1024 * 1024);
      await applied('PUT', '/settings/wifi', text, operationId, success('applied'));
      expect(headset.device.state.wifi).toEqual(list);
      const { body } = await tenant.call(413, 'PUT', at('/settings/wifi'), `${text} `);
      expect(body).toEqual({ message: 'The request body is larger than 1048576 bytes.' });
    });

    it('the networks reach the headset unchanged, up to the limits', async () => {
      const list = [
        { ssid: 's'.repeat(32), password: 'p@ss 語', security: 'x'.repeat(100) },
        { ssid: 'open' },
      ];
      await applied('PUT', '/settings/wifi', list, operationId, success('applied'));
      expect(headset.device.state.wifi).toEqual(list);
    });

    it.each([
      ['an empty list', []],
      ['no ssid', [{ password: 'p' }]],
      ['an ssid of 33 characters', [{ ssid: 's'.repeat(33) }]],
      ['a security of 101 characters', [{ ssid: 's', security: 'x'.repeat(101) }]],
    ])('%s is refused and nothing is created', (_, body) => refused('PUT', '/settings/wifi', body));
  });

  describe('languages', () => {
    const operationId = 'put-v1-applications-devices-settings-lang';

    // proves api/5/language-first
    it('the list reaches the headset in order, the first is applied, and the status shows it', async () => {
      await applied('PUT', '/settings/lang', ['en', 'ja', 'x-8chars'], operationId, success('applied: en'));
      expect(languageInUse(headset.device.state)).toBe('en');
      expect(headset.device.state.languages).toEqual(['en', 'ja', 'x-8chars']);
      await waitFor('the status', async () => {
        const { lang } = (await tenant.call(200, 'GET', at('/status'))).body;
        return JSON.stringify(lang) === '["en","ja","x-8chars"]';
      });
    });

    it.each([
      ['an empty list', []],
      ['an empty code', ['']],
      ['a code of 9 characters', ['123456789']],
      ['a code outside ASCII', ['日本']],
    ])('%s is refused and nothing is created', (_, body) => refused('PUT', '/settings/lang', body));
  });

  it('launcher keys reach the headset unchanged', async () => {
    const action = {
      'package-name': 'com.example.guide',
      'class-name': 'Main',
      'action-name': 'SHOW',
      flags: 1,
      extras: [{ 'key-name': 'page', 'key-type': 'int', 'key-value': '3' }],
    };
    const body = {
      'key-config': [
        {
          'key-name': 'left',
          'key-event': 'long-pressed',
          'key-action': { 'action-type': 'launch-app', 'action-param': action },
        },
        { 'key-name': 'center', 'key-event': 'first-pressed', 'key-action': { 'action-type': 'none' } },
      ],
    };
    const operationId = 'put-v1-applications-devices-apps-launcher-keys';
    await applied('PUT', '/apps/launcher/keys', body, operationId, success('applied'));
    expect(headset.device.state.launcherKeys).toBe(JSON.stringify(body));
  });

  describe('uninstallation', () => {
    const operationId = 'delete-v1-applications-devices-package';

    it('removes the package from the headset, and the status follows', async () => {
      await applied('DELETE', '/package/com.example.other', undefined, operationId, {
        ...success('uninstall success.'),
        package: 'com.example.other',
      });
      expect(headset.device.state.apps).toEqual([apps[0]]);
      await waitFor('the status', async () => {
        const status = (await tenant.call(200, 'GET', at('/status'))).body;
        return status.apps.length === 1 && status.apps[0].package === 'com.example.guide';
      });
    });

    it('of a package that is not installed fails, with a separate callback form', async () => {
      await applied('DELETE', '/package/com.example.none', undefined, operationId, {
        ...{ result: 'failure', message: 'The package is not installed.' },
        package: 'com.example.none',
      });
    });
  });

  describe('a client that is too old', () => {
    const tooOld = "The device's client version 3.3.99 is older than 3.4.0, which this operation needs.";

    it('is rejected if its version is known, and nothing is created', async () => {
      const device = tenant.devices[1];
      const old = tenant.headset(device, { clientVersion: '3.3.99', apps });
      old.connect();
      await tenant.ended(await tenant.activate(device));
      // Only values reported under this activation may be visible to the application (rule A7).
      const earlier = old.sessionEpoch;
      old.disconnect();
      await waitFor('the next session', () => old.sessionEpoch > earlier);
      await waitFor('its hello to be handled', async () => {
        const refusal = await tenant.call(400, 'DELETE', at('/package/com.example.guide', device?.deviceId));
        return refusal.body.message === tooOld;
      });
      const before = await tenant.transactions();
      const answer = await tenant.call(400, 'DELETE', at('/package/com.example.guide', device?.deviceId));
      expect(answer.body).toEqual({ message: tooOld });
      expect(await tenant.transactions()).toEqual(before);
    });

    it('fails the operation with the same message if its version becomes known later', async () => {
      const device = tenant.devices[2];
      await tenant.activate(device);
      const { body } = await tenant.call(201, 'DELETE', at('/package/com.example.guide', device?.deviceId));
      const old = tenant.headset(device, { clientVersion: '3.3.99', apps });
      old.connect();
      expect(await tenant.ended(body.transactionId)).toMatchObject({ result: 'failure', message: tooOld });
      expect(old.device.state.apps).toEqual(apps);
    });
  });

  describe('reset', () => {
    const operationId = 'put-v1-applications-devices-reset';

    it('wipes the headset, keeps it activated, and later operations work', async () => {
      const device = tenant.devices[3];
      const wiped = tenant.headset(device, { content: { languages: ['ja'] } });
      wiped.connect();
      await tenant.ended(await tenant.activate(device));
      const read = async () => (await tenant.call(200, 'GET', at('', device?.deviceId))).body;
      const activation = await read();
      await applied(
        'PUT',
        '/settings/lang',
        ['fr'],
        'put-v1-applications-devices-settings-lang',
        success('applied: fr'),
        wiped,
      );
      await applied('PUT', '/reset', undefined, operationId, success('reset'), wiped);
      expect(wiped.device.state.languages).toEqual(['ja']);
      expect(await read()).toEqual(activation);
      const id = await tenant.command(device);
      expect(await tenant.ended(id)).toMatchObject({ result: 'success' });
      // All reports of the headset before and after the reset belong to the same application.
      const report = wiped.report({ case: 'signal', value: { level: 2 } });
      await waitFor('the notification', () =>
        tenant.integrator.received.find((r) => r.webhookId === `device-${wiped.deviceId}-${report}`),
      );
    });

    // proves api/4/reset-cancels
    it('cancels the earlier unprocessed transactions, each with its message, and no later ones', async () => {
      const device = tenant.devices[4];
      await tenant.activate(device);
      const before = [await tenant.command(device), await tenant.command(device)];
      const answer = await tenant.call(201, 'PUT', at('/reset', device?.deviceId));
      const after = await tenant.command(device);
      for (const transactionId of before) {
        const [canceled] = await waitFor('the cancellation', () => {
          const all = tenant.callbacks(transactionId);
          return all.length > 0 && all;
        });
        expect(canceled?.body).toEqual({
          applicationId: tenant.applicationId,
          deviceId: device?.deviceId,
          timestamp: expect.any(Number),
          transactionId,
          operationId: 'put-v1-applications-devices-commands',
          notificationType: 'processed',
          result: 'failure',
          message: canceledByReset,
        });
        expect(await tenant.status(transactionId)).toBe('canceled');
      }
      const late = tenant.headset(device);
      late.connect();
      expect(await tenant.ended(answer.body.transactionId)).toMatchObject({ result: 'success' });
      expect(await tenant.ended(after)).toMatchObject({ result: 'success' });
      for (const id of before) expect(tenant.callbacks(id)).toHaveLength(1);
    });

    it('two resets: the second cancels the first while the first is unprocessed', async () => {
      const device = tenant.devices[5];
      await tenant.activate(device);
      const first = (await tenant.call(201, 'PUT', at('/reset', device?.deviceId))).body.transactionId;
      const second = (await tenant.call(201, 'PUT', at('/reset', device?.deviceId))).body.transactionId;
      expect(await tenant.ended(first)).toMatchObject({ result: 'failure', message: canceledByReset });
      const late = tenant.headset(device);
      late.connect();
      expect(await tenant.ended(second)).toMatchObject({ result: 'success', message: 'reset' });
    });

    it('of a device that is not activated, or activated by another application, is rejected', async () => {
      const idle = tenant.devices[6];
      const answer = await tenant.call(403, 'PUT', at('/reset', idle?.deviceId));
      expect(answer.body).toEqual({ message: 'The device is not activated.' });
      const other = await createTenant({ alsoDevices: tenant.devices.slice(6, 7) });
      await other.activate(idle);
      const byOther = await tenant.call(403, 'PUT', at('/reset', idle?.deviceId));
      expect(byOther.body).toEqual({ message: 'The device is activated by another application.' });
      await other.close();
    });

    it('with an Idempotency-Key happens once', async () => {
      const device = tenant.devices[3];
      const headers = { 'Idempotency-Key': 'one-reset' };
      const path = at('/reset', device?.deviceId);
      const answers = await Promise.all(
        [1, 2, 3].map(() => tenant.call(201, 'PUT', path, undefined, headers)),
      );
      expect(new Set(answers.map((one) => one.body.transactionId)).size).toBe(1);
    });
  });
});

describeOnStack('hardware properties', () => {
  let tenant: Tenant;
  beforeAll(async () => {
    tenant = await createTenant({ devices: 3 });
  });
  afterAll(() => tenant.close());

  const read = (deviceId: string | undefined, of = tenant) =>
    of.api.call('GET', `/v1/devices/${deviceId}/hardware-properties`);
  const identifier = `model-${process.pid}-${Date.now()}`;

  it('are null in every part before the headset reported and the model is registered', async () => {
    const [device] = tenant.devices;
    await tenant.activate(device);
    expect(await read(device?.deviceId)).toMatchObject({
      status: 200,
      body: {
        deviceId: device?.deviceId,
        model: null,
        camera: null,
        macAddressWifi: null,
        macAddressBluetooth: null,
      },
    });
  });

  it('show the values that the headset reported and operators registered', async () => {
    const device = tenant.devices[1];
    await tenant.activate(device);
    const hardware = {
      macAddressWifi: '02:00:00:aa:bb:01',
      macAddressBluetooth: '02:00:00:aa:bb:02',
      modelIdentifier: identifier,
    };
    tenant.headset(device, { hardware }).connect();
    const { macAddressWifi, macAddressBluetooth } = hardware;
    const addresses = { macAddressWifi, macAddressBluetooth };
    const deviceId = device?.deviceId ?? '';
    await waitFor('the session', async () => (await read(deviceId)).body.macAddressWifi !== null);
    expect((await read(deviceId)).body).toEqual({ deviceId, model: null, camera: null, ...addresses });
    const model = { identifier, name: '一号', description: '', shape: 'box' };
    await admin().devices.putHardwareModel({ model: { ...model, cameras: [] } });
    expect((await read(deviceId)).body).toEqual({ deviceId, model, camera: null, ...addresses });
    await admin().devices.putHardwareModel({
      model: {
        ...{ ...model, shape: 'neck-mounted' },
        cameras: [
          { direction: 'landscape', mountedPosition: 'front', maxWidth: 1920, maxHeight: 1080 },
          { direction: 'portrait', mountedPosition: 'left', maxWidth: 1080, maxHeight: 1920 },
        ],
      },
    });
    await admin().devices.putDevice({ deviceId, specificDestination: '大阪工場' });
    expect((await read(deviceId)).body).toEqual({
      deviceId,
      model: { ...model, shape: 'neck-mounted' },
      camera: [
        {
          direction: 'landscape',
          mountedPosition: 'front',
          resolution: { maxWidth: 1920, maxHeight: 1080 },
        },
        { direction: 'portrait', mountedPosition: 'left', resolution: { maxWidth: 1080, maxHeight: 1920 } },
      ],
      ...addresses,
      specificDestination: '大阪工場',
    });
  });

  it('are readable by the client of the application that has activated the device', async () => {
    const device = tenant.devices[2];
    expect(await read(device?.deviceId)).toMatchObject({
      status: 403,
      body: { message: 'The device is not activated.' },
    });
    await tenant.activate(device);
    const other = await createTenant();
    expect(await read(device?.deviceId, other)).toMatchObject({
      status: 403,
      body: { message: 'The device is activated by another application.' },
    });
    const sibling = await createTenant({ sameDeveloperAs: tenant });
    expect(await read(device?.deviceId, sibling)).toMatchObject({ status: 200 });
    await other.close();
    await sibling.close();
  });
});
