import {
  BluetoothMode,
  ConnectivityTarget,
  NetworkMode,
  NetworkType,
  type Operation,
  RadioState,
} from '@headset-cloud/proto/device_link/v1/device_link_pb.ts';
import type { BluetoothNeighbour, DeviceState } from './content.ts';

/** ConnectivityResult as plain data, so that it can be stored. */
export interface ConnectivityAnswer {
  readonly statusCode: number;
  readonly devices: readonly {
    mode: BluetoothMode;
    registered: boolean;
    name: string;
    alias: string;
    address: string;
  }[];
  readonly networks: readonly {
    mode: NetworkMode;
    registered: boolean;
    level: number;
    name: string;
    networkId: number;
    security: string;
  }[];
  readonly state: RadioState;
}

/**
 * The result of a connectivity operation. `state`: the headset's state after the operation; absent if nothing
 * changes.
 */
export interface ConnectivityOutcome {
  readonly message: string;
  readonly connectivity: ConnectivityAnswer;
  readonly state?: DeviceState;
}

type Kind = Operation['kind'];

function outcome(
  statusCode: number,
  message: string,
  more: Partial<ConnectivityAnswer> = {},
  state?: DeviceState,
): ConnectivityOutcome {
  const connectivity = { statusCode, devices: [], networks: [], state: RadioState.UNSPECIFIED, ...more };
  return { message, connectivity, ...(state && { state }) };
}

/** Performs a connectivity operation. Returns undefined for other operations. */
export function connectivity(kind: Kind, device: DeviceState): ConnectivityOutcome | undefined {
  switch (kind.case) {
    case 'listConnectivity':
      return list(kind.value.networkType, kind.value.target, device);
    case 'readConnectivityState':
      return radio(kind.value.networkType, device.bluetoothOn, device);
    case 'setConnectivityState':
      return radio(kind.value.networkType, kind.value.enabled, device);
    case 'resetConnectivity':
      return reset(kind.value.networkType, device);
    case 'addPairing':
      return pair(kind.value.macAddress, device);
    case 'changePairing':
      return changePairing(kind.value.macAddress, kind.value.connect, device);
    case 'deletePairing':
      return unpair(kind.value.macAddress, device);
    default:
      return undefined;
  }
}

function list(type: NetworkType, target: ConnectivityTarget, device: DeviceState): ConnectivityOutcome {
  switch (type) {
    case NetworkType.BLUETOOTH: {
      if (!device.bluetoothOn) return outcome(403, 'Bluetooth is off.');
      const known = device.bluetoothDevices.filter((d) => d.paired || d.around !== false);
      const wanted = known.filter(
        (d) =>
          target === ConnectivityTarget.ALL ||
          (target === ConnectivityTarget.CONNECTED ? d.connected : !d.connected && d.around !== false),
      );
      return outcome(200, 'listed', { devices: wanted.map((d) => shown(d)) });
    }
    case NetworkType.WIFI:
      return outcome(200, 'listed', { networks: selected(wifiNetworks(device), target) });
    case NetworkType.APN:
      return outcome(200, 'listed', { networks: selected(accessPoints(device), target) });
    default:
      return outcome(500, 'This kind of network cannot be listed.');
  }
}

type ShownNetwork = ConnectivityAnswer['networks'][number];

function selected(networks: ShownNetwork[], target: ConnectivityTarget): ShownNetwork[] {
  if (target === ConnectivityTarget.ALL) return networks;
  const mode = target === ConnectivityTarget.CONNECTED ? NetworkMode.CONNECTED : NetworkMode.AVAILABLE;
  return networks.filter((network) => network.mode === mode);
}

/** The headset is connected to the first registered network in reach. */
function wifiNetworks({ wifi, wifiAround }: DeviceState): ShownNetwork[] {
  const connected = wifi.find(({ ssid }) => wifiAround.some((around) => around.ssid === ssid));
  const inReach = wifiAround.map(({ ssid, level, security }) => {
    const networkId = wifi.findIndex((registered) => registered.ssid === ssid);
    const mode = ssid === connected?.ssid ? NetworkMode.CONNECTED : NetworkMode.AVAILABLE;
    return { mode, registered: networkId >= 0, level, name: ssid, networkId, security };
  });
  const away = wifi.flatMap(({ ssid, security }, networkId) =>
    wifiAround.some((around) => around.ssid === ssid)
      ? []
      : [
          {
            ...{ mode: NetworkMode.UNAVAILABLE, registered: true, level: 0 },
            ...{ name: ssid, networkId, security: security || 'NONE' },
          },
        ],
  );
  return [...inReach, ...away];
}

/** The first access point is in use. */
function accessPoints({ apns, signalLevel }: DeviceState): ShownNetwork[] {
  return apns.map((apn, networkId) => ({
    mode: networkId === 0 ? NetworkMode.CONNECTED : NetworkMode.AVAILABLE,
    ...{ registered: true, level: signalLevel, name: String(apn['name'] ?? ''), networkId, security: 'NONE' },
  }));
}

function radio(type: NetworkType, enabled: boolean, device: DeviceState): ConnectivityOutcome {
  if (type !== NetworkType.BLUETOOTH) return outcome(400, 'Only Bluetooth has a state.');
  const state = enabled ? RadioState.ENABLED : RadioState.DISABLED;
  return outcome(
    200,
    enabled ? 'enabled' : 'disabled',
    { state },
    {
      ...device,
      bluetoothOn: enabled,
      bluetoothDevices: enabled
        ? device.bluetoothDevices
        : device.bluetoothDevices.map((d) => ({ ...d, connected: false })),
    },
  );
}

function reset(type: NetworkType, device: DeviceState): ConnectivityOutcome {
  if (type !== NetworkType.BLUETOOTH) return outcome(500, 'Only Bluetooth can be reset.');
  const bluetoothDevices = device.bluetoothDevices.map((d) => ({ ...d, paired: false, connected: false }));
  return outcome(200, 'reset', {}, { ...device, bluetoothDevices });
}

function pair(macAddress: string, device: DeviceState): ConnectivityOutcome {
  const refused = refusal(macAddress, device);
  if (refused) return refused;
  const neighbour = lookUp(macAddress, device);
  if (neighbour?.paired) return outcome(409, 'The device is paired already.');
  if (!neighbour || neighbour.around === false) return outcome(404, 'The device is not in reach.');
  return changed(device, neighbour, { ...neighbour, paired: true, connected: true }, 'paired');
}

function changePairing(macAddress: string, connect: boolean, device: DeviceState): ConnectivityOutcome {
  const refused = refusal(macAddress, device);
  if (refused) return refused;
  const neighbour = lookUp(macAddress, device);
  if (!neighbour?.paired) return outcome(404, 'The device is not paired.');
  if (connect && neighbour.around === false) return outcome(404, 'The device is not in reach.');
  return changed(
    device,
    neighbour,
    { ...neighbour, connected: connect },
    connect ? 'connected' : 'disconnected',
  );
}

function unpair(macAddress: string, device: DeviceState): ConnectivityOutcome {
  const refused = refusal(macAddress, device);
  if (refused) return refused;
  const neighbour = lookUp(macAddress, device);
  if (!neighbour?.paired) return outcome(404, 'The device is not paired.');
  return changed(
    device,
    neighbour,
    { ...neighbour, paired: false, connected: false },
    'unpaired',
    BluetoothMode.DELETED,
  );
}

function refusal(macAddress: string, device: DeviceState): ConnectivityOutcome | undefined {
  if (!/^[\da-f]{2}(:[\da-f]{2}){5}$/i.test(macAddress)) return outcome(400, 'This is no MAC address.');
  return device.bluetoothOn ? undefined : outcome(403, 'Bluetooth is off.');
}

function lookUp(macAddress: string, device: DeviceState): BluetoothNeighbour | undefined {
  const wanted = macAddress.toLowerCase();
  return device.bluetoothDevices.find(({ address }) => address.toLowerCase() === wanted);
}

function changed(
  device: DeviceState,
  before: BluetoothNeighbour,
  after: BluetoothNeighbour,
  message: string,
  mode?: BluetoothMode,
): ConnectivityOutcome {
  const bluetoothDevices = device.bluetoothDevices.map((d) => (d === before ? after : d));
  return outcome(200, message, { devices: [shown(after, mode)] }, { ...device, bluetoothDevices });
}

function shown(neighbour: BluetoothNeighbour, mode?: BluetoothMode): ConnectivityAnswer['devices'][number] {
  const { paired, connected, name, alias, address } = neighbour;
  const seen = paired ? BluetoothMode.DISCONNECTED : BluetoothMode.DETECTED;
  return {
    mode: mode ?? (connected ? BluetoothMode.CONNECTED : seen),
    ...{ registered: paired, name, alias, address },
  };
}
