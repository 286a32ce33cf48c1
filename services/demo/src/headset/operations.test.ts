import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import {
  BluetoothMode,
  ConnectivityTarget,
  ExtraType,
  HeldState,
  type LaunchType,
  NetworkMode,
  NetworkType,
  RadioState,
} from '@headset-cloud/proto/device_link/v1/device_link_pb.ts';
import { waitFor } from '@headset-cloud/runtime/testing/wait.ts';
import type { DeviceContent } from './content.ts';
import type { Headset } from './headset.ts';
import { Cloud, deviceId } from './testing/cloud.ts';

let cloud: Cloud;
beforeEach(async () => {
  cloud = new Cloud();
  await cloud.start();
});
afterEach(() => cloud.close());

const speaker = {
  name: 'Speaker',
  alias: 'sp',
  address: '02:00:00:00:00:0A',
  paired: false,
  connected: false,
};
const watch = { name: 'Watch', alias: 'w', address: '02:00:00:00:00:0B', paired: true, connected: true };
const glove = {
  ...{ name: 'Glove', alias: 'g', address: '02:00:00:00:00:0C', paired: true, connected: false },
  around: false,
};
const content: Partial<DeviceContent> = {
  apps: [{ package: 'com.example.guide', version: '2.0' }],
  bluetoothDevices: [speaker, watch, glove],
  wifiAround: [
    { ssid: 'office', level: 4, security: 'WPA' },
    { ssid: 'guests', level: 2, security: 'NONE' },
  ],
};

let lastId = 0;
/** Runs an operation and returns its result without the transaction id. */
async function run(kind: Parameters<Cloud['offer']>[1]) {
  lastId += 1;
  cloud.offer(lastId, kind);
  const { success, message, connectivity } = await cloud.result(lastId);
  return {
    ...{ success, message },
    ...(connectivity && { connectivity: JSON.parse(JSON.stringify(connectivity, withoutTypeNames)) }),
  };
}
const withoutTypeNames = (key: string, value: unknown) => (key === '$typeName' ? undefined : value);
const connectivityOf = (statusCode: number, more: object = {}) => ({
  ...{ statusCode, devices: [], networks: [], state: RadioState.UNSPECIFIED },
  ...more,
});
const refused = (statusCode: number, message: string) => ({
  ...{ success: false, message },
  connectivity: connectivityOf(statusCode),
});
const lastEffect = () => cloud.effects().at(-1);

describe('settings', () => {
  // proves api/5/language-first
  it('are kept over a restart, each with one effect', async () => {
    const first = await cloud.online();
    const results = [
      await run({
        case: 'applyApns',
        value: { apns: [{ name: 'a', apn: 'a.example', mcc: '440', mnc: '10', authType: 1n }] },
      }),
      await run({
        case: 'applyWifi',
        value: { networks: [{ ssid: 'office', password: 'pass', security: 'WPA' }, { ssid: 'away' }] },
      }),
      await run({ case: 'applyLanguages', value: { languages: ['en', 'ja'] } }),
      await run({ case: 'applyLauncherKeys', value: { configJson: '{"key-config":[]}' } }),
    ];
    const messages = ['applied', 'applied', 'applied: en', 'applied'];
    expect(results).toEqual(messages.map((message) => ({ success: true, message })));
    await first.close();
    const second = await cloud.online();
    expect(second.device.state).toMatchObject({
      apns: [{ name: 'a', apn: 'a.example', mcc: '440', mnc: '10', authType: '1' }],
      wifi: [{ ssid: 'office', password: 'pass', security: 'WPA' }, { ssid: 'away' }],
      languages: ['en', 'ja'],
      launcherKeys: '{"key-config":[]}',
    });
    expect(cloud.hellos.at(-1)?.languages).toEqual(['en', 'ja']);
    expect(cloud.effects().map((effect) => effect.operation)).toEqual([
      ...['applyApns', 'applyWifi', 'applyLanguages', 'applyLauncherKeys'],
    ]);
    expect(cloud.reported('inventory')).toMatchObject([
      { firmwareVersion: '9.001.0', apps: [], languages: ['en', 'ja'] },
    ]);
  });

  it('do not change when the transaction belongs to an earlier activation', async () => {
    const made = await cloud.online();
    cloud.offer(1, { case: 'applyLanguages', value: { languages: ['en'] } }, 'languages', 2);
    await cloud.result(1);
    cloud.offer(2, { case: 'applyLanguages', value: { languages: ['fr'] } }, 'languages', 1);
    expect(await cloud.result(2)).toMatchObject({
      success: false,
      message: 'The transaction belongs to an earlier activation.',
    });
    expect(made.device.state.languages).toEqual(['en']);
    expect(cloud.effects()).toEqual([{ transactionId: 1, operation: 'languages' }]);
  });
});

describe('an uninstallation', () => {
  it('removes the app once, and reports the remaining apps', async () => {
    const made = await cloud.online({ content });
    expect(await run({ case: 'uninstall', value: { package: 'com.example.guide' } })).toEqual({
      success: true,
      message: 'uninstall success.',
    });
    expect(made.device.state.apps).toEqual([]);
    expect(cloud.reported('inventory')).toMatchObject([{ apps: [] }]);
  });

  it('fails without an effect if the package is not installed', async () => {
    await cloud.online({ content });
    expect(await run({ case: 'uninstall', value: { package: 'com.example.other' } })).toEqual({
      success: false,
      message: 'The package is not installed.',
    });
    expect(cloud.effects()).toEqual([]);
  });
});

describe('a command', () => {
  it('with an unknown launch type fails; without a launch type the app is called', async () => {
    await cloud.online();
    expect(await run({ case: 'command', value: { launchType: 9 as LaunchType } })).toEqual({
      ...{ success: false, message: 'This client does not know the launch type.' },
    });
    expect(await run({ case: 'command', value: {} })).toEqual({ success: true, message: 'called' });
    expect(cloud.effects()).toHaveLength(1);
  });
});

describe('the extras of a command', () => {
  const types = {
    ...{ count: ExtraType.INTEGER, serial: ExtraType.LONG, ratio: ExtraType.DOUBLE, on: ExtraType.BOOLEAN },
    ...{ name: ExtraType.STRING, list: ExtraType.ARRAY, map: ExtraType.OBJECT },
  };
  it.each([
    ['{"count":1.5}', 'The extra count is no INTEGER.'],
    ['{"count":1e3}', 'The extra count is no INTEGER.'],
    ['{"count":2147483648}', 'The extra count is no INTEGER.'],
    ['{"count":"1"}', 'The extra count is no INTEGER.'],
    ['{"serial":9223372036854775808}', 'The extra serial is no LONG.'],
    ['{"on":1}', 'The extra on is no BOOLEAN.'],
    ['{"ratio":"1"}', 'The extra ratio is no DOUBLE.'],
    ['{"ratio":1e400}', 'The extra ratio is no DOUBLE.'],
    ['{"name":1}', 'The extra name is no STRING.'],
    ['{"list":{}}', 'The extra list is no ARRAY.'],
    ['{"map":[]}', 'The extra map is no OBJECT.'],
    ['{"map":1}', 'The extra map is no OBJECT.'],
    ['[1]', 'The extras are no object.'],
    ['{', 'The extras are not JSON.'],
  ])('%s do not fit: the command fails without a call', async (extrasJson, message) => {
    await cloud.online();
    expect(await run({ case: 'command', value: { extrasJson, extraTypes: types } })).toEqual({
      ...{ success: false, message },
    });
    expect(cloud.effects()).toEqual([]);
  });

  it('reach the app exactly at the bounds of their ranges', async () => {
    await cloud.online();
    const extrasJson = '{"count":-2147483648,"serial":9223372036854775807}';
    await run({ case: 'command', value: { extrasJson, extraTypes: types } });
    expect(cloud.effects()).toMatchObject([
      { extras: { count: '-2147483648', serial: '9223372036854775807' } },
    ]);
  });
});

describe('an operation that the headset does not know', () => {
  it('fails with a message', async () => {
    await cloud.online();
    expect(await run({ case: undefined })).toEqual({
      success: false,
      message: 'This client does not know the operation.',
    });
  });
});

describe('a reset', () => {
  // proves api/7/reset
  it('erases everything except the activation, and the next hello lists it as finished', async () => {
    const made = await cloud.online({ content });
    await run({ case: 'activate', value: { applicationId: 'app-1', clientId: 'c' } });
    await run({ case: 'applyLanguages', value: { languages: ['en'] } });
    await run({ case: 'uninstall', value: { package: 'com.example.guide' } });
    const before = cloud.hellos.length;
    const reportsBefore = cloud.reports.length;
    expect(await run({ case: 'reset', value: { applicationId: 'app-1' } })).toEqual({
      success: true,
      message: 'reset',
    });
    expect(cloud.hellos).toHaveLength(before + 1);
    expect(cloud.hellos.at(-1)).toMatchObject({
      ...{ languages: ['ja'], apps: content.apps, activationEpoch: 1n },
      held: [{ transactionId: BigInt(lastId), state: HeldState.FINISHED }],
    });
    expect(made.device.state).toMatchObject({ ...content, languages: ['ja'] });
    expect(made.journal.activation).toMatchObject({ applicationId: 'app-1', clientId: 'c' });
    // Only the result is reported, and only in the new session.
    expect(cloud.reports.slice(reportsBefore).map(({ body }) => body.case)).toEqual(['result']);
    expect(lastEffect()).toEqual({ transactionId: lastId, operation: 'reset' });
  });

  it('does not change the firmware', async () => {
    const made = await cloud.online({ content });
    made.changeContent({ firmwareVersion: '9.005.0' });
    await run({ case: 'reset', value: {} });
    expect(made.device.state).toMatchObject({ ...content, firmwareVersion: '9.005.0' });
  });

  it('keeps reports that are not acknowledged', async () => {
    cloud.acknowledges = false;
    const made = await cloud.online();
    const id = made.report({ case: 'volume', value: { max: 16, current: 3 } });
    cloud.offer(1, { case: 'reset', value: {} });
    await waitFor('the report in the next session', () => {
      const repeated = cloud.reports.filter((report) => report.reportId === BigInt(id));
      return cloud.hellos.length === 2 && repeated.length === 2;
    });
  });
});

describe('a headset with an older copy of its state', () => {
  it('numbers its reports above the acknowledged id and above ids that it may have used since the copy', async () => {
    const before = Date.now();
    cloud.ackedReportId = 20n;
    const made = await cloud.online();
    made.report({ case: 'signal', value: { level: 1 } });
    const [report] = await waitFor('the report', () => cloud.reports.length > 0 && cloud.reports);
    expect(Number(report?.reportId)).toBeGreaterThanOrEqual(before);
  });
});

describe('connectivity', () => {
  const shown = {
    speaker: {
      mode: BluetoothMode.DETECTED,
      registered: false,
      name: 'Speaker',
      alias: 'sp',
      address: speaker.address,
    },
    watch: {
      mode: BluetoothMode.CONNECTED,
      registered: true,
      name: 'Watch',
      alias: 'w',
      address: watch.address,
    },
    glove: {
      mode: BluetoothMode.DISCONNECTED,
      registered: true,
      name: 'Glove',
      alias: 'g',
      address: glove.address,
    },
  };
  const bluetooth = NetworkType.BLUETOOTH;
  let made: Headset;
  beforeEach(async () => {
    made = await cloud.online({ content });
  });

  it.each([
    ['all', ConnectivityTarget.ALL, [shown.speaker, shown.watch, shown.glove]],
    ['connected', ConnectivityTarget.CONNECTED, [shown.watch]],
    ['available', ConnectivityTarget.AVAILABLE, [shown.speaker]],
  ])('lists %s Bluetooth devices', async (_, target, devices) => {
    expect(await run({ case: 'listConnectivity', value: { networkType: bluetooth, target } })).toEqual({
      ...{ success: true, message: 'listed' },
      connectivity: connectivityOf(200, { devices }),
    });
  });

  it('lists Wi-Fi networks and access points by their mode', async () => {
    await run({
      case: 'applyWifi',
      value: { networks: [{ ssid: 'office' }, { ssid: 'away', security: 'WEP' }] },
    });
    await run({ case: 'applyApns', value: { apns: [{ name: 'first' }, { name: 'second' }] } });
    const list = async (networkType: NetworkType, target: ConnectivityTarget) =>
      (await run({ case: 'listConnectivity', value: { networkType, target } })).connectivity;
    const office = {
      ...{ mode: NetworkMode.CONNECTED, registered: true, level: 4, name: 'office' },
      ...{ networkId: 0, security: 'WPA' },
    };
    const guests = {
      ...{ mode: NetworkMode.AVAILABLE, registered: false, level: 2, name: 'guests' },
      ...{ networkId: -1, security: 'NONE' },
    };
    const away = {
      ...{ mode: NetworkMode.UNAVAILABLE, registered: true, level: 0, name: 'away' },
      ...{ networkId: 1, security: 'WEP' },
    };
    const apn = { registered: true, level: 3, security: 'NONE' };
    const first = { ...apn, mode: NetworkMode.CONNECTED, name: 'first', networkId: 0 };
    const second = { ...apn, mode: NetworkMode.AVAILABLE, name: 'second', networkId: 1 };
    const { ALL, CONNECTED, AVAILABLE } = ConnectivityTarget;
    const of = (...networks: object[]) => connectivityOf(200, { networks });
    expect(await list(NetworkType.WIFI, ALL)).toEqual(of(office, guests, away));
    expect(await list(NetworkType.WIFI, CONNECTED)).toEqual(of(office));
    expect(await list(NetworkType.WIFI, AVAILABLE)).toEqual(of(guests));
    expect(await list(NetworkType.APN, ALL)).toEqual(of(first, second));
    expect(await list(NetworkType.APN, CONNECTED)).toEqual(of(first));
    expect(await list(NetworkType.APN, AVAILABLE)).toEqual(of(second));
    expect((await list(NetworkType.MOBILE, ALL))?.statusCode).toBe(500);
  });

  it('pairs a device in reach once, disconnects and connects it, and removes the pairing', async () => {
    const macAddress = speaker.address.toLowerCase();
    const of = (message: string, mode: BluetoothMode, registered: boolean) => ({
      ...{ success: true, message },
      connectivity: connectivityOf(200, { devices: [{ ...shown.speaker, mode, registered }] }),
    });
    const { CONNECTED, DISCONNECTED, DELETED } = BluetoothMode;
    expect(await run({ case: 'addPairing', value: { macAddress } })).toEqual(of('paired', CONNECTED, true));
    expect(await run({ case: 'addPairing', value: { macAddress } })).toEqual(
      refused(409, 'The device is paired already.'),
    );
    expect(await run({ case: 'changePairing', value: { macAddress, connect: false } })).toEqual(
      of('disconnected', DISCONNECTED, true),
    );
    expect(await run({ case: 'changePairing', value: { macAddress, connect: true } })).toEqual(
      of('connected', CONNECTED, true),
    );
    expect(await run({ case: 'deletePairing', value: { macAddress } })).toEqual(
      of('unpaired', DELETED, false),
    );
    expect(made.device.state.bluetoothDevices).toEqual([speaker, watch, glove]);
    expect(cloud.effects().map(({ operation }) => operation)).toEqual([
      ...['addPairing', 'changePairing', 'changePairing', 'deletePairing'],
    ]);
  });

  it.each([
    [400, 'addPairing', '02:00:00:00:00', 'This is no MAC address.'],
    [400, 'deletePairing', '02-00-00-00-00-0A', 'This is no MAC address.'],
    [404, 'addPairing', '02:00:00:00:00:FF', 'The device is not in reach.'],
    [404, 'changePairing', speaker.address, 'The device is not paired.'],
    [404, 'changePairing', glove.address, 'The device is not in reach.'],
    [404, 'deletePairing', speaker.address, 'The device is not paired.'],
    [409, 'addPairing', watch.address, 'The device is paired already.'],
  ] as const)('answers %i to %s of %s, without an effect', async (statusCode, kind, macAddress, message) => {
    const value = { macAddress, ...(kind === 'changePairing' && { connect: true }) };
    expect(await run({ case: kind, value })).toEqual(refused(statusCode, message));
    expect(cloud.effects()).toEqual([]);
    expect(made.device.state.bluetoothDevices).toEqual(content.bluetoothDevices);
  });

  // proves api/4/bluetooth-switch
  it('switches Bluetooth off and on, and answers 403 while it is off', async () => {
    const state = (enabled: boolean) => ({
      ...{ success: true, message: enabled ? 'enabled' : 'disabled' },
      connectivity: connectivityOf(200, { state: enabled ? RadioState.ENABLED : RadioState.DISABLED }),
    });
    const read = () => run({ case: 'readConnectivityState', value: { networkType: bluetooth } });
    const set = (enabled: boolean) =>
      run({ case: 'setConnectivityState', value: { networkType: bluetooth, enabled } });
    expect(await read()).toEqual(state(true));
    expect(await set(false)).toEqual(state(false));
    expect(await read()).toEqual(state(false));
    const off = refused(403, 'Bluetooth is off.');
    expect(await run({ case: 'listConnectivity', value: { networkType: bluetooth } })).toEqual(off);
    expect(await run({ case: 'addPairing', value: { macAddress: speaker.address } })).toEqual(off);
    expect(await run({ case: 'changePairing', value: { macAddress: watch.address } })).toEqual(off);
    expect(await run({ case: 'deletePairing', value: { macAddress: watch.address } })).toEqual(off);
    expect(await set(true)).toEqual(state(true));
    expect(made.device.state.bluetoothDevices).toEqual([speaker, { ...watch, connected: false }, glove]);
  });

  it('unpairs all devices by a reset', async () => {
    expect(await run({ case: 'resetConnectivity', value: { networkType: bluetooth } })).toEqual({
      ...{ success: true, message: 'reset' },
      connectivity: connectivityOf(200),
    });
    expect(made.device.state.bluetoothDevices.filter((d) => d.paired || d.connected)).toEqual([]);
  });

  it('answers for other network types with the statuses of the specification', async () => {
    const networkType = NetworkType.WIFI;
    const stateless = 'Only Bluetooth has a state.';
    expect(await run({ case: 'readConnectivityState', value: { networkType } })).toEqual(
      refused(400, stateless),
    );
    expect(await run({ case: 'setConnectivityState', value: { networkType } })).toEqual(
      refused(400, stateless),
    );
    expect(await run({ case: 'resetConnectivity', value: { networkType } })).toEqual(
      refused(500, 'Only Bluetooth can be reset.'),
    );
  });

  it('reports connections, with the pairing that caused them', async () => {
    await run({ case: 'addPairing', value: { macAddress: speaker.address } });
    const pairing = BigInt(lastId);
    await run({ case: 'setConnectivityState', value: { networkType: bluetooth, enabled: false } });
    made.changeContent({ bluetoothDevices: [watch] });
    await waitFor('the notices', () => cloud.reported('bluetoothConnection').length === 3);
    const { CONNECTED, DISCONNECTED } = BluetoothMode;
    const reported = cloud.reported('bluetoothConnection').map(({ transactionId, statusCode, devices }) => ({
      ...{ transactionId, statusCode },
      devices: devices.map(({ name, mode, registered }) => [name, mode, registered]),
    }));
    expect(reported).toEqual([
      { transactionId: pairing, statusCode: 200, devices: [['Speaker', CONNECTED, true]] },
      {
        ...{ transactionId: 0n, statusCode: 200 },
        devices: [
          ['Speaker', DISCONNECTED, true],
          ['Watch', DISCONNECTED, true],
        ],
      },
      { transactionId: 0n, statusCode: 200, devices: [['Watch', CONNECTED, true]] },
    ]);
  });

  it('fails if succeeds is false', async () => {
    const list = { case: 'listConnectivity', value: { networkType: bluetooth } } as const;
    made.behaviour.succeeds = false;
    expect(await run(list)).toEqual(refused(500, 'failed'));
  });
});

describe('a device change whose result was not stored before the headset died', () => {
  it('is reported with its outcome, and is not made again', async () => {
    const first = await cloud.online({ content });
    cloud.offer(1, { case: 'addPairing', value: { macAddress: speaker.address } });
    await cloud.result(1);
    await first.close();
    // Restore the state of a process that died right after it wrote the device's file.
    const file = (name: string) => join(cloud.stateDir, `${deviceId}.${name}.jsonl`);
    const journal = readFileSync(file('journal'), 'utf8').trim().split('\n');
    const started = journal.findIndex((line) => line.includes('"k":"start"'));
    writeFileSync(file('journal'), `${journal.slice(0, started + 1).join('\n')}\n`);
    writeFileSync(file('effects'), '');
    cloud.reports.length = 0;
    await cloud.online({ content });
    expect(await cloud.result(1)).toMatchObject({
      ...{ success: true, message: 'paired' },
      connectivity: { statusCode: 200, devices: [{ address: speaker.address }] },
    });
    expect(cloud.effects()).toEqual([{ transactionId: 1, operation: 'addPairing' }]);
  });
});
