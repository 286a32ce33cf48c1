import type { Headset } from '@headset-cloud/demo/headset/headset.ts';
import type { ReportBody, ReportDetails } from '@headset-cloud/demo/headset/outbox.ts';
import { NetworkType } from '@headset-cloud/proto/device_link/v1/device_link_pb.ts';
import { waitFor } from '@headset-cloud/runtime/testing/wait.ts';
import { ago, createTenant, describeOnStack, type Tenant } from './harness.ts';
import { startReceiver } from './receiver.ts';

/** Each device-originated notification (specification Callbacks 3): report and body. */
const notifications: readonly (readonly [string, ReportBody, Readonly<Record<string, unknown>>])[] = [
  ...(['started', 'finished'] as const).map(
    (status) =>
      [
        `boot ${status}`,
        { case: 'stateChange', value: { power: status } },
        { operationId: 'notify-boot', status },
      ] as const,
  ),
  ...(['device_wear', 'device_takeoff'] as const).map(
    (usage) =>
      [
        usage,
        { case: 'stateChange', value: { wearing: usage } },
        { operationId: 'notify-device-wearing-status', usage },
      ] as const,
  ),
  ...(['start_charging', 'stop_charging'] as const).map(
    (usage) =>
      [
        usage,
        { case: 'stateChange', value: { charging: usage } },
        { operationId: 'notify-battery-charging', usage },
      ] as const,
  ),
  ...[0, 100].map(
    (batteryPercentage) =>
      [
        `a battery of ${batteryPercentage} %`,
        { case: 'stateChange', value: { batteryPercentage } },
        {
          operationId: 'notify-battery-percentage-changed',
          status: 'battery_changed',
          batteryPercentage,
        },
      ] as const,
  ),
  [
    'the location',
    { case: 'stateChange', value: { location: { latitude: 35.681236, longitude: -139.767125 } } },
    { operationId: 'notify-location', status: 'location', lat: '35.681236', lon: '-139.767125' },
  ],
  [
    'custom data',
    { case: 'customData', value: { success: true, customData: '{"ページ":3}' } },
    {
      operationId: 'notify-custom-data',
      success: true,
      message: 'notify ACTION_SEND_CUSTOM_DATA message.',
      customData: '{"ページ":3}',
    },
  ],
  [
    'custom data without success',
    { case: 'customData', value: {} },
    {
      operationId: 'notify-custom-data',
      success: false,
      message: 'notify ACTION_SEND_CUSTOM_DATA message.',
      customData: '',
    },
  ],
  ...(['started', 'finished'] as const).map(
    (appStatus) =>
      [
        `an app ${appStatus}`,
        { case: 'appStatus', value: { status: appStatus, text: 'Guide' } },
        { operationId: 'notify-app-status', type: 'app_status', appType: 'device', appStatus, text: 'Guide' },
      ] as const,
  ),
  [
    'the level of wifi',
    {
      case: 'networkLevel',
      value: { networkType: NetworkType.WIFI, active: true, networkName: 'ssid', level: 4 },
    },
    {
      operationId: 'notify-network-level',
      status: 'network_level',
      networkType: 'wifi',
      active: true,
      networkName: 'ssid',
      networkLevel: 4,
    },
  ],
  [
    'the level of mobile',
    { case: 'networkLevel', value: { networkType: NetworkType.MOBILE, networkName: 'apn' } },
    {
      operationId: 'notify-network-level',
      status: 'network_level',
      networkType: 'mobile',
      active: false,
      networkName: 'apn',
      networkLevel: 0,
    },
  ],
  [
    'the volume',
    { case: 'volume', value: { min: 0, max: 16, current: 7 } },
    {
      operationId: 'notify-volume',
      status: 'volume',
      volumeType: 'media',
      stream: 'music',
      min: 0,
      max: 16,
      current: 7,
    },
  ],
  ...[0, 4].map(
    (signalLevel) =>
      [
        `a signal of ${signalLevel}`,
        { case: 'signal', value: { level: signalLevel } },
        { operationId: 'notify-signal', status: 'signal', signalLevel },
      ] as const,
  ),
  ...[true, false].map(
    (enabled) =>
      [
        `bluetooth ${enabled ? 'on' : 'off'}`,
        { case: 'bluetoothSwitch', value: { enabled } },
        {
          operationId: 'notify-bluetooth',
          status: enabled ? 'bluetooth_enabled' : 'bluetooth_disabled',
        },
      ] as const,
  ),
];

/** Reports with values outside the specification. */
const refused: readonly (readonly [string, ReportBody])[] = [
  ['an unknown power state', { case: 'stateChange', value: { power: 'exploded' } }],
  ['a battery of 101 %', { case: 'stateChange', value: { batteryPercentage: 101 } }],
  ['an impossible location', { case: 'stateChange', value: { location: { latitude: 91, longitude: 0 } } }],
  ['a network level of 5', { case: 'networkLevel', value: { networkType: NetworkType.WIFI, level: 5 } }],
  ['the level of bluetooth', { case: 'networkLevel', value: { networkType: NetworkType.BLUETOOTH } }],
  ['a signal of 5', { case: 'signal', value: { level: 5 } }],
  ['a volume above its highest', { case: 'volume', value: { max: 16, current: 17 } }],
  ['an unknown app status', { case: 'appStatus', value: { status: 'crashed' } }],
];

describeOnStack('notifications from headsets', () => {
  let tenant: Tenant;
  let headset: Headset;
  /** The cloud replaces an earlier time of a report (rule A24). */
  let activatedAtMs: number;
  beforeAll(async () => {
    tenant = await createTenant({ devices: 1 });
    headset = tenant.headset();
    headset.connect();
    await tenant.ended(await tenant.activate());
    activatedAtMs = ago(0);
  });
  afterAll(() => tenant.close());

  /** The integrator's callbacks for a report, in the order of the fields. */
  const received = (reportId: number, of = tenant, from = headset) => {
    const id = `device-${from.deviceId}-${reportId}`;
    return of.integrator.received.filter((r) => r.webhookId === id || r.webhookId.startsWith(`${id}-`));
  };
  const arrived = (reportId: number, count = 1, of = tenant, from = headset) =>
    waitFor(`${count} notifications of report ${reportId}`, () => {
      const all = received(reportId, of, from);
      return all.length >= count && all;
    });
  const say = (body: ReportBody, details?: ReportDetails) => headset.report(body, details);
  const signal: ReportBody = { case: 'signal', value: { level: 1 } };

  it.each(notifications)('%s: the exact body', async (_, report, fields) => {
    const [one] = await arrived(say(report, { occurredAtMs: activatedAtMs }));
    expect(one?.rawBody).toBe(
      JSON.stringify({
        applicationId: tenant.applicationId,
        deviceId: headset.deviceId,
        timestamp: activatedAtMs,
        ...fields,
      }),
    );
  });

  it('a change of several fields becomes one notification for each, and the status shows them', async () => {
    const id = say({
      case: 'stateChange',
      value: { power: 'started', wearing: 'device_wear', batteryPercentage: 42 },
    });
    const all = await arrived(id, 3);
    expect(all.map((one) => one.body.operationId).sort()).toEqual([
      'notify-battery-percentage-changed',
      'notify-boot',
      'notify-device-wearing-status',
    ]);
    const status = (await tenant.call(200, 'GET', `/devices/${headset.deviceId}/status`)).body;
    expect(status).toMatchObject({ power: 'started', wearing: 'device_wear', batteryPercentage: 42 });
  });

  it.each(refused)('%s is not sent, and delays nothing', async (_, report) => {
    const wrong = say(report);
    await arrived(say(signal));
    expect(received(wrong)).toEqual([]);
  });

  // protects against headsets/report-values
  it('a time in the future is replaced by the time of arrival', async () => {
    const fromMs = Date.now();
    const [one] = await arrived(say(signal, { occurredAtMs: fromMs + 3_600_000 }));
    expect(one?.body.timestamp).toBeGreaterThanOrEqual(fromMs);
    expect(one?.body.timestamp).toBeLessThanOrEqual(Date.now());
  });

  it('an event during the headset’s offline time is sent later, once, with the time of the event', async () => {
    headset.stayAway(3_600_000);
    await waitFor('the end of the session', () => headset.sessionEpoch === 0);
    const details = { occurredAtMs: activatedAtMs };
    const id = say({ case: 'customData', value: { customData: 'offline' } }, details);
    headset.stayAway(0);
    const [one] = await arrived(id);
    expect(one?.body).toMatchObject({ timestamp: activatedAtMs, customData: 'offline' });
    headset.disconnect();
    await arrived(say(signal));
    expect(received(id)).toHaveLength(1);
  });

  it('first deliveries of a burst of reports of all kinds are in the order of the reports, even if some fail', async () => {
    const own = await createTenant({ devices: 2 });
    // Every fifth callback is rejected at first and is sent again, separately.
    const receiver = await startReceiver((arrival, earlier) =>
      earlier.length === 0 && /[05]$/.test(String(arrival.headers['webhook-id'])) ? 500 : 204,
    );
    try {
      const headsets = own.devices.map((device) => own.headset(device));
      for (const one of headsets) one.connect();
      for (const device of own.devices) await own.ended(await own.activate(device));
      await own.call(200, 'PATCH', '', { deviceEvent: receiver.url });
      const kinds: readonly ReportBody[] = [
        { case: 'signal', value: { level: 2 } },
        { case: 'bluetoothConnection', value: { statusCode: 200, message: 'm' } },
        { case: 'customData', value: { customData: 'c' } },
        { case: 'volume', value: { min: 0, max: 16, current: 7 } },
      ];
      const reportedIds = new Map<string, string[]>(headsets.map((one) => [one.deviceId, []]));
      for (let i = 0; i < 80; i++) {
        for (const one of headsets) {
          const id = one.report(kinds[i % kinds.length] as ReportBody);
          reportedIds.get(one.deviceId)?.push(`device-${one.deviceId}-${id}`);
        }
      }
      const taken = new Set<string>();
      await waitFor('all to arrive', () => {
        for (const { headers } of receiver.arrivals) taken.add(String(headers['webhook-id']));
        return [...reportedIds.values()].flat().every((id) => taken.has(id));
      });
      for (const [deviceId, expected] of reportedIds) {
        expect([...taken].filter((id) => id.startsWith(`device-${deviceId}-`))).toEqual(expected);
      }
    } finally {
      await own.close();
      await receiver.close();
    }
  });

  // protects against callbacks/other-customer
  it('a later application gets nothing of an earlier application’s activation', async () => {
    const earlier = await createTenant({ devices: 1 });
    const [device] = earlier.devices;
    const later = await createTenant({ alsoDevices: device ? [device] : [] });
    const moving = earlier.headset();
    moving.connect();
    await earlier.ended(await earlier.activate());
    const secret = moving.report({ case: 'customData', value: { customData: 'before' } });
    await arrived(secret, 1, earlier, moving);
    moving.stayAway(60_000);
    const late = moving.report({ case: 'customData', value: { customData: 'late' } });
    await earlier.call(201, 'DELETE', `/devices/${moving.deviceId}`);
    const activation = await later.activate(device);
    moving.stayAway(0);
    await later.ended(activation);
    const own = moving.report({ case: 'customData', value: { customData: 'after' } });
    expect((await arrived(own, 1, later, moving)).map((one) => one.body.customData)).toEqual(['after']);
    expect(received(late, later, moving)).toEqual([]);
    expect(received(late, earlier, moving)).toEqual([]);
    expect(received(own, earlier, moving)).toEqual([]);
    await earlier.close();
    await later.close();
  });

  it('nothing is sent for a headset that is not activated', async () => {
    const other = await createTenant({ devices: 1 });
    const idle = other.headset();
    idle.connect();
    const before = idle.report(signal);
    await waitFor('the acknowledgement', () => !idle.journal.reports.has(before));
    await other.ended(await other.activate());
    const after = idle.report(signal);
    await arrived(after, 1, other, idle);
    expect(received(before, other, idle)).toEqual([]);
    await other.close();
  });
});
