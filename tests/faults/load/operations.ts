import type { CallRecord } from '../evidence.ts';
import type { Random } from '../random.ts';
import type { OperationKind } from '../verify/operations.ts';
import type { IntegratorClient } from './integrator-client.ts';

/** An API call for an operation. `path` is relative to the device's path. */
interface Request {
  readonly method: string;
  readonly path: string;
  readonly body?: unknown;
}

type DeviceKind = Exclude<OperationKind, 'activate' | 'deactivate' | 'update'>;

const macAddress = '02:00:00:00:00:0A';

/** All operations of an activated device, each with its weight. */
const requests: Readonly<Record<DeviceKind, readonly [number, (r: Random) => Request]>> = {
  command: [
    60,
    () => ({
      method: 'PUT',
      path: '/commands',
      body: { package: 'com.example.app', launchType: 'activity', extras: { greeting: 'hello' } },
    }),
  ],
  wifi: [
    6,
    (r) => ({ method: 'PUT', path: '/settings/wifi', body: [{ ssid: `office ${r.between(1, 99)}` }] }),
  ],
  languages: [4, (r) => ({ method: 'PUT', path: '/settings/lang', body: [r.pick(['ja', 'en', 'fr'])] })],
  launcherKeys: [
    4,
    () => ({
      method: 'PUT',
      path: '/apps/launcher/keys',
      body: {
        'key-config': [
          { 'key-name': 'center', 'key-event': 'first-pressed', 'key-action': { 'action-type': 'none' } },
        ],
      },
    }),
  ],
  uninstall: [4, () => ({ method: 'DELETE', path: '/package/com.example.guide' })],
  reset: [2, () => ({ method: 'PUT', path: '/reset' })],
  connectivityList: [
    5,
    (r) => ({ method: 'GET', path: `/connectivity?target=all&networkType=${r.pick(['bluetooth', 'wifi'])}` }),
  ],
  connectivityState: [5, () => ({ method: 'GET', path: '/connectivity/bluetooth/state' })],
  switchBluetooth: [
    4,
    (r) => ({
      method: 'PUT',
      path: '/connectivity/bluetooth/state',
      body: { state: r.chance(0.7) ? 'enabled' : 'disabled' },
    }),
  ],
  addPairing: [3, () => ({ method: 'POST', path: '/connectivity/bluetooth', body: { macAddress } })],
  deletePairing: [3, () => ({ method: 'DELETE', path: '/connectivity/bluetooth', body: { macAddress } })],
};

/** Initial content and surroundings of every headset, with which pairing and uninstalling can succeed. */
export const surroundings = {
  apps: [{ package: 'com.example.guide', version: '1.0' }],
  bluetoothDevices: [{ name: 'Speaker', alias: 'sp', address: macAddress, paired: false, connected: false }],
  wifiAround: [{ ssid: 'office 1', level: 4, security: 'WPA' }],
};

/** Returns a random operation, by the weights. */
export function anyKind(r: Random): DeviceKind {
  const kinds = Object.entries(requests) as [DeviceKind, readonly [number, unknown]][];
  let left = r.next() * kinds.reduce((sum, [, [share]]) => sum + share, 0);
  for (const [kind, [share]] of kinds) {
    left -= share;
    if (left < 0) return kind;
  }
  return 'command';
}

export function operate(
  client: IntegratorClient,
  deviceId: string,
  kind: DeviceKind,
  r: Random,
): Promise<CallRecord> {
  const { method, path, body } = requests[kind][1](r);
  return client.call({ kind, method, path: `/devices/${deviceId}${path}`, body, deviceId });
}
