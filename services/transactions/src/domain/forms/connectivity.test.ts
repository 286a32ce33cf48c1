import { create, type MessageInitShape } from '@bufbuild/protobuf';
import {
  BluetoothMode,
  ConnectivityResultSchema,
  ConnectivityTarget,
  NetworkMode,
  NetworkType,
  OperationSchema,
  RadioState,
} from '@headset-cloud/proto/device_link/v1/device_link_pb.ts';
import { connectivityBody, findingOf } from './connectivity.ts';

type Kind = MessageInitShape<typeof OperationSchema>['kind'];
type Result = MessageInitShape<typeof ConnectivityResultSchema>;

const { BLUETOOTH, WIFI, MOBILE, APN } = NetworkType;
const body = (kind: Kind, result: Result | undefined, success = true) =>
  connectivityBody(create(OperationSchema, { kind }).kind, {
    success,
    message: 'm',
    ...(result && { connectivity: findingOf(create(ConnectivityResultSchema, result)) }),
  });
const list = (
  networkType: NetworkType = BLUETOOTH,
  target: ConnectivityTarget = ConnectivityTarget.ALL,
): Kind => ({
  case: 'listConnectivity',
  value: { networkType, target },
});
const read = (networkType: NetworkType = BLUETOOTH): Kind => ({
  case: 'readConnectivityState',
  value: { networkType },
});
const set: Kind = { case: 'setConnectivityState', value: { networkType: BLUETOOTH, enabled: true } };
const reset: Kind = { case: 'resetConnectivity', value: { networkType: BLUETOOTH } };
const pairings: Kind[] = [
  { case: 'addPairing', value: { macAddress: 'a' } },
  { case: 'changePairing', value: { macAddress: 'a', connect: true } },
  { case: 'deletePairing', value: { macAddress: 'a' } },
];
const device = (mode: BluetoothMode) => ({ mode, registered: true, name: 'n', alias: 'l', address: 'aa:bb' });
const shown = (mode: string) => ({
  status: { mode, registered: true },
  name: 'n',
  alias: 'l',
  address: 'aa:bb',
});
const { CONNECTED, DISCONNECTED, DETECTED, DELETED, UNSPECIFIED } = BluetoothMode;

describe('the end of a connectivity operation', () => {
  // proves cb/3/connectivity-list, cb/3/connectivity-list-devices, cb/3/bluetooth-device
  it('of a Bluetooth list has the target and the devices', () => {
    const devices = [CONNECTED, DISCONNECTED, DETECTED].map(device);
    expect(JSON.stringify(body(list(), { statusCode: 200, devices }))).toBe(
      JSON.stringify({
        message: 'm',
        networkType: 'bluetooth',
        target: 'all',
        statusCode: 200,
        devices: ['connected', 'disconnected', 'detected'].map(shown),
      }),
    );
  });

  // proves cb/3/connectivity-list-devices, cb/3/network
  it.each([
    [WIFI, 'wifi'],
    [APN, 'apn'],
  ])('of a list of networks (%d) has the networks and no devices', (type, networkType) => {
    const networks = [
      { mode: NetworkMode.CONNECTED, registered: true, level: 4, name: 's', networkId: 3, security: 'WPA' },
      { mode: NetworkMode.AVAILABLE, level: 0, name: 't', networkId: -1, security: 'WEP' },
      { mode: NetworkMode.UNAVAILABLE, level: 1, name: 'u', networkId: 0, security: 'NONE' },
    ];
    const result = { statusCode: 200, networks, devices: [device(CONNECTED)] };
    expect(JSON.stringify(body(list(type, ConnectivityTarget.AVAILABLE), result))).toBe(
      JSON.stringify({
        message: 'm',
        networkType,
        target: 'available',
        statusCode: 200,
        networks: [
          {
            status: { mode: 'connected', registered: true },
            level: 4,
            name: 's',
            networkId: 3,
            security: 'WPA',
          },
          {
            status: { mode: 'available', registered: false },
            level: 0,
            name: 't',
            networkId: -1,
            security: 'WEP',
          },
          {
            status: { mode: 'unavailable', registered: false },
            level: 1,
            name: 'u',
            networkId: 0,
            security: 'NONE',
          },
        ],
      }),
    );
  });

  it.each([
    [ConnectivityTarget.ALL, 'all'],
    [ConnectivityTarget.CONNECTED, 'connected'],
    [ConnectivityTarget.AVAILABLE, 'available'],
    [ConnectivityTarget.UNSPECIFIED, 'available'],
  ])('of a list contains its target (%d → %s)', (target, word) => {
    expect(body(list(BLUETOOTH, target), { statusCode: 200 })).toEqual({
      message: 'm',
      networkType: 'bluetooth',
      target: word,
      statusCode: 200,
      devices: [],
    });
  });

  // proves cb/3/on-off
  it.each([
    [read(), RadioState.ENABLED, 'enabled', 'bluetooth'],
    [read(WIFI), RadioState.DISABLED, 'disabled', 'wifi'],
    [read(MOBILE), RadioState.UNSPECIFIED, 'unknown', 'mobile'],
    [set, 77 as RadioState, 'unknown', 'bluetooth'],
  ])('of reading or changing the state has the state (%#)', (kind, state, word, networkType) => {
    expect(JSON.stringify(body(kind, { statusCode: 200, state, devices: [device(CONNECTED)] }))).toBe(
      JSON.stringify({ message: 'm', networkType, statusCode: 200, state: word }),
    );
  });

  // proves cb/3/reset
  it('of a reset has no further fields', () => {
    expect(body(reset, { statusCode: 200, state: RadioState.ENABLED, devices: [device(CONNECTED)] })).toEqual(
      {
        message: 'm',
        networkType: 'bluetooth',
        statusCode: 200,
      },
    );
  });

  // proves cb/3/pairing, cb/3/pairing-modes
  it.each(pairings)('of a pairing ($case) has the devices', (kind) => {
    const devices = [CONNECTED, DISCONNECTED, DELETED].map(device);
    expect(JSON.stringify(body(kind, { statusCode: 200, devices }))).toBe(
      JSON.stringify({
        message: 'm',
        networkType: 'bluetooth',
        statusCode: 200,
        devices: ['connected', 'disconnected', 'deleted'].map(shown),
      }),
    );
  });

  // proves cb/8/list-codes, cb/8/on-off-codes, cb/8/reset-codes, cb/8/pairing-codes
  it.each<[string, Kind, number[]]>([
    ['a list', list(), [200, 403, 500]],
    ['the state', read(), [200, 400, 500]],
    ['a change of the state', set, [200, 400, 500]],
    ['a reset', reset, [200, 500]],
    ...pairings.map((p): [string, Kind, number[]] => [`${p?.case}`, p, [200, 400, 403, 404, 409, 500]]),
  ])('of %s has one of its status codes, every other is 500', (_, kind, allowed) => {
    for (const statusCode of [0, 199, 200, 201, 400, 401, 403, 404, 409, 500, 503, 4_294_967_295]) {
      expect(body(kind, { statusCode })['statusCode']).toBe(allowed.includes(statusCode) ? statusCode : 500);
    }
  });

  it('is never a 200 after a failure, and keeps the reason otherwise', () => {
    expect(body(list(), { statusCode: 200 }, false)['statusCode']).toBe(500);
    expect(body(list(), { statusCode: 403 }, false)['statusCode']).toBe(403);
  });

  it.each<[Kind, object]>([
    [list(), { networkType: 'bluetooth', target: 'all', statusCode: 500, devices: [] }],
    [list(WIFI), { networkType: 'wifi', target: 'all', statusCode: 500, networks: [] }],
    [read(), { networkType: 'bluetooth', statusCode: 500, state: 'unknown' }],
    [set, { networkType: 'bluetooth', statusCode: 500, state: 'unknown' }],
    [reset, { networkType: 'bluetooth', statusCode: 500 }],
    ...pairings.map((p): [Kind, object] => [p, { networkType: 'bluetooth', statusCode: 500, devices: [] }]),
  ])('without a finding is a 500 with empty lists (%#)', (kind, rest) => {
    for (const success of [true, false]) {
      expect(body(kind, undefined, success)).toEqual({ message: 'm', ...rest });
    }
  });

  it('maps unknown modes, and modes that its form does not have, to disconnected or unavailable', () => {
    const modes = (kind: Kind, ...given: BluetoothMode[]) =>
      (
        body(kind, { statusCode: 200, devices: given.map(device) })['devices'] as {
          status: { mode: string };
        }[]
      ).map((d) => d.status.mode);
    expect(modes(list(), DELETED, UNSPECIFIED, 99 as BluetoothMode)).toEqual(Array(3).fill('disconnected'));
    expect(modes(pairings[0], DETECTED, UNSPECIFIED)).toEqual(Array(2).fill('disconnected'));
    const networks = [{ mode: NetworkMode.UNSPECIFIED }, { mode: 99 as NetworkMode }];
    expect(
      findingOf(create(ConnectivityResultSchema, { networks })).networks.map((n) => n.status.mode),
    ).toEqual(['unavailable', 'unavailable']);
  });

  // proves cb/3/network
  it.each([0, 4, 5, 99, 4_294_967_295])(
    'keeps a network’s level of %d: it is an integer without a limit',
    (level) => {
      const found = findingOf(create(ConnectivityResultSchema, { networks: [{ level }] }));
      expect(found.networks[0]?.level).toBe(level);
    },
  );

  it.each([
    ['WPA', 'WPA'],
    ['wpa2-psk', 'WPA'],
    ['WPA3-SAE', 'WPA'],
    ['SAE', 'WPA'],
    ['WEP', 'WEP'],
    ['NONE', 'NONE'],
    ['', 'NONE'],
    ['open', 'NONE'],
  ])('knows the security %s as %s', (security, word) => {
    const found = findingOf(create(ConnectivityResultSchema, { networks: [{ security }] }));
    expect(found.networks[0]?.security).toBe(word);
  });

  it('never cuts a text in the middle of a character', () => {
    const name = `${'x'.repeat(127)}\u{1f600}`;
    const devices = [{ name, alias: name, address: name }];
    const found = findingOf(create(ConnectivityResultSchema, { devices, networks: [{ name }] }));
    const left = 'x'.repeat(127);
    expect(found.devices[0]).toMatchObject({ name: left, alias: left, address: left });
    expect(found.networks[0]?.name).toBe(left);
  });

  it('is bounded: 256 entries, texts of 128 characters', () => {
    const text = 'x'.repeat(129);
    const found = findingOf(
      create(ConnectivityResultSchema, {
        devices: Array.from({ length: 257 }, () => ({ name: text, alias: text, address: text })),
        networks: Array.from({ length: 257 }, () => ({ name: text, security: text })),
      }),
    );
    expect([found.devices.length, found.networks.length]).toEqual([256, 256]);
    expect(found.devices[0]).toMatchObject({
      name: text.slice(1),
      alias: text.slice(1),
      address: text.slice(1),
    });
    expect(found.networks[0]?.name).toBe(text.slice(1));
    // Fits into an event of the log (1 MB) in any encoding.
    const worst = '\u0001'.repeat(129);
    const devices = Array.from({ length: 256 }, () => ({ name: worst, alias: worst, address: worst }));
    expect(JSON.stringify(body(list(), { statusCode: 200, devices })).length).toBeLessThan(700_000);
  });
});
