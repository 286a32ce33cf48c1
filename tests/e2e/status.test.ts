import type { Headset } from '@headset-cloud/demo/headset/headset.ts';
import { type JsonObject, readDocument } from '@headset-cloud/gateway/openapi/document.ts';
import { waitFor } from '@headset-cloud/runtime/testing/wait.ts';
import { ago, createTenant, describeOnStack, type Tenant } from './harness.ts';
import { rawRequest } from './raw-http.ts';
import { plain } from './tokens.ts';

/** The contract's example of a device without any session, without its id. */
const { deviceId: _, ...nothing } = [
  'paths',
  '/v1/applications/{applicationId}/devices/{deviceId}/status',
  ...['get', 'responses', '200', 'content', 'application/json', 'examples', 'never', 'value'],
].reduce<JsonObject>((at, key) => at[key] as JsonObject, readDocument('cws_api'));
/** The network status while the headset has a session. */
const online = { network: 'connectivity_online', networkUpdateDate: expect.any(String) };
const date = expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/);

describeOnStack('device status', () => {
  let tenant: Tenant;
  beforeAll(async () => {
    tenant = await createTenant({ devices: 6 });
  });
  afterAll(() => tenant.close());

  const statusOf = async (i: number) =>
    (await tenant.call(200, 'GET', `/devices/${tenant.devices[i]?.deviceId}/status`)).body;
  const list = async (of = tenant) => (await of.call(200, 'GET', '/devices/status')).body;
  const eventually = (i: number, what: string, is: (status: Record<string, unknown>) => boolean) =>
    waitFor(what, async () => {
      const status = await statusOf(i);
      return is(status) && status;
    });
  /** Sends a report and waits until it is durable. */
  async function report(headset: Headset, value: object): Promise<void> {
    const id = headset.report({ case: 'stateChange', value });
    await waitFor('the acknowledgement', () => !headset.journal.reports.has(id));
  }

  it('is null in every part except the network before the headset reported anything', async () => {
    await tenant.activate(tenant.devices[0]);
    const deviceId = tenant.devices[0]?.deviceId;
    expect(await statusOf(0)).toEqual({ deviceId, ...nothing });
  });

  it('shows firmware, apps and languages as reported by the headset’s newest session', async () => {
    const device = tenant.devices[1];
    await tenant.activate(device);
    const apps = [
      { package: 'com.example.guide', version: '2.0' },
      { package: 'com.example.漢', version: '' },
    ];
    const first = tenant.headset(device, { firmwareVersion: '9.001.0', apps, languages: ['ja', 'en'] });
    first.connect();
    expect(await eventually(1, 'the firmware', (s) => s['firmware'] !== null)).toEqual({
      deviceId: device?.deviceId,
      ...nothing,
      ...online,
      firmware: { version: '9.001.0' },
      apps,
      lang: ['ja', 'en'],
    });
    await first.close();
    const second = tenant.headset(device, { firmwareVersion: '9.002.0', apps: [], languages: [] });
    second.connect();
    expect(
      await eventually(
        1,
        'the new firmware',
        (s) => (s['firmware'] as { version: string }).version === '9.002.0',
      ),
    ).toEqual({
      ...{ deviceId: device?.deviceId, ...nothing, ...online },
      ...{ firmware: { version: '9.002.0' }, apps: [], lang: [] },
    });
  });

  // proves api/3/status-power, api/3/status-wearing, api/3/status-charging
  // proves api/3/status-battery, api/3/status-location, api/3/status-dates
  it('shows each reported change with its own date, and leaves the rest unchanged', async () => {
    const device = tenant.devices[2];
    const activation = await tenant.activate(device);
    const headset = tenant.headset(device);
    headset.connect();
    // Reports belong to this activation once the headset knows it.
    await tenant.ended(activation);
    const said = { firmware: { version: '9.001.0' }, apps: [], lang: ['ja'] };
    let expected: Record<string, unknown> = { deviceId: device?.deviceId, ...nothing, ...online, ...said };
    for (const [change, field, updated] of [
      [{ power: 'started' }, 'power', 'powerUpdateDate'],
      [{ wearing: 'device_wear' }, 'wearing', 'wearingUpdateDate'],
      [{ charging: 'start_charging' }, 'charging', 'chargingUpdateDate'],
      [{ batteryPercentage: 0 }, 'batteryPercentage', 'batteryUpdateDate'],
      [{ wearing: 'device_takeoff' }, 'wearing', 'wearingUpdateDate'],
      [{ batteryPercentage: 100 }, 'batteryPercentage', 'batteryUpdateDate'],
      [{ charging: 'stop_charging' }, 'charging', 'chargingUpdateDate'],
      [{ power: 'finished' }, 'power', 'powerUpdateDate'],
    ] as const) {
      const fromMs = Date.now();
      await report(headset, change);
      const value = Object.values(change)[0];
      const status = await eventually(2, `${field} ${value}`, (s) => s[field] === value);
      expected = { ...expected, [field]: value, [updated]: date };
      expect(status).toEqual(expected);
      const updatedMs = Date.parse(String(status[updated]));
      expect(updatedMs).toBeGreaterThanOrEqual(fromMs);
      expect(updatedMs).toBeLessThanOrEqual(Date.now());
      expected = { ...expected, [updated]: status[updated] };
    }
    await report(headset, { location: { latitude: 35.681236, longitude: -139.767125 } });
    expect(await eventually(2, 'the location', (s) => s['latitude'] !== null)).toEqual({
      ...{ ...expected, latitude: 35.681236, longitude: -139.767125, locationUpdateDate: date },
    });
  });

  it('the newest report counts, whatever its date; a late report with a lower id replaces nothing', async () => {
    const device = tenant.devices[3];
    const activation = await tenant.activate(device);
    const headset = tenant.headset(device);
    headset.connect();
    // Reports belong to this activation once the headset knows it.
    await tenant.ended(activation);
    const earlierMs = ago(0);
    await report(headset, { batteryPercentage: 50 });
    await eventually(3, 'the level', (s) => s['batteryPercentage'] === 50);
    const { lastReportId, activationEpoch } = headset.journal;
    const send = (further: number, occurredAtMs: number, value: object) =>
      headset.sendRaw({
        case: 'report',
        value: {
          ...{ reportId: BigInt(lastReportId + further), activationEpoch: BigInt(activationEpoch) },
          occurredAtMs: BigInt(occurredAtMs),
          body: { case: 'stateChange', value },
        },
      });
    send(1000, earlierMs, { batteryPercentage: 90 });
    const newer = await eventually(3, 'the newer level', (s) => s['batteryPercentage'] === 90);
    expect(Date.parse(String(newer['batteryUpdateDate']))).toBe(earlierMs);
    // In a separate session: within one session, a lower id counts as a repetition.
    const epoch = headset.sessionEpoch;
    headset.disconnect();
    await waitFor('the next session', () => headset.sessionEpoch > epoch);
    send(500, ago(0), { batteryPercentage: 10, power: 'started' });
    const mixed = await eventually(3, 'the other part of the report', (s) => s['power'] === 'started');
    // The new session gives the network status a new date.
    expect(mixed).toEqual({ ...newer, power: 'started', powerUpdateDate: date, networkUpdateDate: date });
  });

  it('the list has exactly the activated devices, in order, each equal to its single status', async () => {
    const ids = tenant.devices.slice(0, 4).map((d) => d.deviceId);
    const expected = await Promise.all([0, 1, 2, 3].map(statusOf));
    expected.sort((a, b) => (a.deviceId < b.deviceId ? -1 : 1));
    expect(expected.map((s) => s.deviceId)).toEqual(ids.toSorted());
    expect(await list()).toEqual({ devices: expected });
    await tenant.call(201, 'DELETE', `/devices/${ids[0]}`);
    expect(await list()).toEqual({ devices: expected.filter((s) => s.deviceId !== ids[0]) });
  });

  it('the list is empty while nothing is activated', async () => {
    const other = await createTenant();
    expect(await list(other)).toEqual({ devices: [] });
    await other.close();
  });

  it('not activated is 403, also after a deactivation, whatever was reported', async () => {
    const never = tenant.devices[4]?.deviceId;
    const message = { message: 'The device is not activated.' };
    expect((await tenant.call(403, 'GET', `/devices/${never}/status`)).body).toEqual(message);
    const was = tenant.devices[2]?.deviceId;
    await tenant.call(201, 'DELETE', `/devices/${was}`);
    expect((await tenant.call(403, 'GET', `/devices/${was}/status`)).body).toEqual(message);
  });

  // proves api/4/activated-by-other, api/8/403-other
  it('activated by another application is 403, and not in the list', async () => {
    const device = tenant.devices[5];
    const other = await createTenant({ alsoDevices: device ? [device] : [] });
    await other.activate(device);
    expect((await tenant.call(403, 'GET', `/devices/${device?.deviceId}/status`)).body).toEqual({
      message: 'The device is activated by another application.',
    });
    const shown: { deviceId: string }[] = (await list()).devices;
    expect(shown.map((d) => d.deviceId)).not.toContain(device?.deviceId);
    expect((await list(other)).devices).toHaveLength(1);
    await other.close();
  });

  it.each(['POST', 'PUT', 'PATCH', 'DELETE', 'HEAD', 'OPTIONS', 'TRACE', 'PROPFIND', 'QUERY'])(
    '%s on a status path is 405 with Allow, with and without a token, a right path or a body',
    async (method) => {
      const authorization = `Bearer ${await tenant.api.token()}`;
      const device = tenant.devices[1]?.deviceId;
      for (const path of [
        `/v1/applications/${tenant.applicationId}/devices/${device}/status`,
        `/v1/applications/${tenant.applicationId}/devices/status`,
        '/v1/applications/none/devices/x/status',
      ]) {
        for (const headers of [{}, { authorization }, { authorization: 'Bearer garbage' }]) {
          const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`);
          const raw = await rawRequest([
            `${method} ${path} HTTP/1.1\r\nHost: a\r\nConnection: close\r\n${lines.join('')}\r\n`,
          ]);
          expect([method, raw.status, raw.headers['allow']]).toEqual([method, 405, 'GET']);
          if (method !== 'HEAD')
            expect(JSON.parse(raw.text)).toEqual({ message: 'Only GET is allowed here.' });
        }
      }
      if (method === 'HEAD' || method === 'TRACE') return;
      const body = await plain(method, `/v1/applications/x/devices/status`, {}, 'not JSON');
      expect(body.status).toBe(405);
    },
  );
});
