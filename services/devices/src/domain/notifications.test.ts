import { create } from '@bufbuild/protobuf';
import {
  BluetoothMode,
  NetworkType,
  type Report,
  ReportSchema,
} from '@headset-cloud/proto/device_link/v1/device_link_pb.ts';
import { notificationsOf } from './notifications.ts';

const subject = { applicationId: 'app', deviceId: '356938035000000', atMs: 5 };
const common = { applicationId: 'app', deviceId: '356938035000000', timestamp: 5 };
type Body = Parameters<typeof create<typeof ReportSchema>>[1] extends infer I
  ? NonNullable<I extends { body?: infer B } ? B : never>
  : never;
const bodies = (body: Body) =>
  notificationsOf(create(ReportSchema, { reportId: 1n, body }) as Report, subject).map((one) => one.body);

// proves cb/3/notify-custom-data, cb/3/notify-app-status, cb/3/notify-boot
// proves cb/3/notify-device-wearing-status, cb/3/notify-battery-charging
// proves cb/3/notify-battery-percentage-changed
// proves cb/3/notify-location, cb/3/notify-network-level, cb/3/notify-volume, cb/3/notify-signal
// proves cb/3/notify-bluetooth, cb/9/fixed
test.each<[string, Body, Record<string, unknown>]>([
  [
    'custom data',
    { case: 'customData', value: { success: true, customData: '{"a":"あ"}' } },
    {
      operationId: 'notify-custom-data',
      success: true,
      message: 'notify ACTION_SEND_CUSTOM_DATA message.',
      customData: '{"a":"あ"}',
    },
  ],
  [
    'custom data, success by default false',
    { case: 'customData', value: {} },
    {
      operationId: 'notify-custom-data',
      success: false,
      message: 'notify ACTION_SEND_CUSTOM_DATA message.',
      customData: '',
    },
  ],
  ...(['started', 'finished'] as const).map((status): [string, Body, Record<string, unknown>] => [
    `an app ${status}`,
    { case: 'appStatus', value: { status, text: 'Guide' } },
    {
      operationId: 'notify-app-status',
      type: 'app_status',
      appType: 'device',
      appStatus: status,
      text: 'Guide',
    },
  ]),
  [
    'the level of a wifi network',
    {
      case: 'networkLevel',
      value: { networkType: NetworkType.WIFI, active: true, networkName: 'ssid', level: 0 },
    },
    {
      operationId: 'notify-network-level',
      status: 'network_level',
      networkType: 'wifi',
      active: true,
      networkName: 'ssid',
      networkLevel: 0,
    },
  ],
  [
    'the level of the mobile network',
    { case: 'networkLevel', value: { networkType: NetworkType.MOBILE, networkName: 'apn', level: 4 } },
    {
      operationId: 'notify-network-level',
      status: 'network_level',
      networkType: 'mobile',
      active: false,
      networkName: 'apn',
      networkLevel: 4,
    },
  ],
  [
    'the volume',
    { case: 'volume', value: { min: 0, max: 16, current: 16 } },
    {
      operationId: 'notify-volume',
      status: 'volume',
      volumeType: 'media',
      stream: 'music',
      min: 0,
      max: 16,
      current: 16,
    },
  ],
  [
    'the signal',
    { case: 'signal', value: { level: 4 } },
    { operationId: 'notify-signal', status: 'signal', signalLevel: 4 },
  ],
  [
    'bluetooth on',
    { case: 'bluetoothSwitch', value: { enabled: true } },
    { operationId: 'notify-bluetooth', status: 'bluetooth_enabled' },
  ],
  [
    'bluetooth off',
    { case: 'bluetoothSwitch', value: {} },
    { operationId: 'notify-bluetooth', status: 'bluetooth_disabled' },
  ],
  ...(['started', 'finished'] as const).map((status): [string, Body, Record<string, unknown>] => [
    `power ${status}`,
    { case: 'stateChange', value: { power: status } },
    { operationId: 'notify-boot', status },
  ]),
  ...(['device_wear', 'device_takeoff'] as const).map((usage): [string, Body, Record<string, unknown>] => [
    usage,
    { case: 'stateChange', value: { wearing: usage } },
    { operationId: 'notify-device-wearing-status', usage },
  ]),
  ...(['start_charging', 'stop_charging'] as const).map((usage): [string, Body, Record<string, unknown>] => [
    usage,
    { case: 'stateChange', value: { charging: usage } },
    { operationId: 'notify-battery-charging', usage },
  ]),
  [
    'an empty battery',
    { case: 'stateChange', value: { batteryPercentage: 0 } },
    {
      operationId: 'notify-battery-percentage-changed',
      status: 'battery_changed',
      batteryPercentage: 0,
    },
  ],
])('%s: the exact fields, in order', (_, body, fields) => {
  expect(JSON.stringify(bodies(body))).toBe(JSON.stringify([{ ...common, ...fields }]));
});

test.each<[number, string]>([
  [0, '0'],
  [-0, '0'],
  [90, '90'],
  [-90, '-90'],
  [35.6812362, '35.6812362'],
  [1e-7, '0.0000001'],
  [-1e-12, '0'],
])('the latitude %s is the text %s, never with an exponent', (latitude, lat) => {
  expect(bodies({ case: 'stateChange', value: { location: { latitude, longitude: 180 } } })).toEqual([
    { ...common, operationId: 'notify-location', status: 'location', lat, lon: '180' },
  ]);
});

// proves cb/9/network-level
test.each<[string, Body]>([
  ['an unknown app status', { case: 'appStatus', value: { status: 'crashed' } }],
  ['a network level of 5', { case: 'networkLevel', value: { networkType: NetworkType.WIFI, level: 5 } }],
  ['the level of bluetooth', { case: 'networkLevel', value: { networkType: NetworkType.BLUETOOTH } }],
  ['the level of no network', { case: 'networkLevel', value: { level: 1 } }],
  ['a signal of 5', { case: 'signal', value: { level: 5 } }],
  ['a volume above its highest', { case: 'volume', value: { min: 0, max: 16, current: 17 } }],
  ['a volume below its lowest', { case: 'volume', value: { min: 2, max: 16, current: 1 } }],
  ['an unknown power state', { case: 'stateChange', value: { power: 'on' } }],
  ['an unknown wearing state', { case: 'stateChange', value: { wearing: 'worn' } }],
  [
    "the headset's own word on its network",
    { case: 'stateChange', value: { network: 'connectivity_offline' } },
  ],
  ['an unknown charging state', { case: 'stateChange', value: { charging: 'full' } }],
  ['a battery of 101 percent', { case: 'stateChange', value: { batteryPercentage: 101 } }],
  [
    'a location outside the valid range',
    { case: 'stateChange', value: { location: { latitude: 90.1, longitude: 0 } } },
  ],
  [
    'a location that is not a number',
    { case: 'stateChange', value: { location: { latitude: 0, longitude: Number.NaN } } },
  ],
  ['an empty change', { case: 'stateChange', value: {} }],
])('%s is not sent', (_, body) => {
  expect(bodies(body)).toEqual([]);
});

test.each([
  ['customData', 65_536, (text: string): Body => ({ case: 'customData', value: { customData: text } })],
  ['text', 4096, (text: string): Body => ({ case: 'appStatus', value: { status: 'started', text } })],
  [
    'networkName',
    255,
    (text: string): Body => ({
      case: 'networkLevel',
      value: { networkType: NetworkType.WIFI, networkName: text },
    }),
  ],
] as const)('%s is truncated to %i characters, never inside a character', (field, most, body) => {
  const whole = 'x'.repeat(most);
  expect(bodies(body(whole))[0]?.[field]).toBe(whole);
  expect(bodies(body(`${whole}x`))[0]?.[field]).toBe(whole);
  const halved = `${'x'.repeat(most - 1)}😀`;
  expect(bodies(body(halved))[0]?.[field]).toBe('x'.repeat(most - 1));
});

// proves cb/8/connection-codes
test('unknown values of a Bluetooth connection are mapped to specified ones', () => {
  const modes = [
    BluetoothMode.DISCONNECTED,
    BluetoothMode.DETECTED,
    BluetoothMode.DELETED,
    BluetoothMode.UNSPECIFIED,
  ];
  const devices = modes.map((mode) => ({ mode }));
  const idOf = (transactionId: bigint, statusCode: number) =>
    bodies({ case: 'bluetoothConnection', value: { transactionId, statusCode, devices } })[0];
  for (const body of [idOf(0n, 404), idOf(-1n, 0), idOf(2n ** 60n, 500)]) {
    expect(body).toMatchObject({
      transactionId: null,
      statusCode: 500,
      devices: modes.map(() => ({ status: { mode: 'disconnected', registered: false } })),
    });
  }
});

test('texts and the list of a Bluetooth connection are limited, and no character is split', () => {
  const long = `${'x'.repeat(127)}\u{1F600}`;
  const devices = Array.from({ length: 257 }, () => ({
    name: long,
    alias: 'y'.repeat(128),
    address: 'z'.repeat(129),
  }));
  const value = { statusCode: 200, message: 'm'.repeat(1025), devices };
  const [body] = bodies({ case: 'bluetoothConnection', value });
  expect(body?.['message']).toBe('m'.repeat(1024));
  expect(body?.['devices']).toEqual(
    Array.from({ length: 256 }, () => ({
      status: { mode: 'disconnected', registered: false },
      name: 'x'.repeat(127),
      alias: 'y'.repeat(128),
      address: 'z'.repeat(128),
    })),
  );
});
