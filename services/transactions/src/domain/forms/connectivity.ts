import {
  BluetoothMode,
  type ConnectivityResult,
  ConnectivityTarget,
  NetworkMode,
  NetworkType,
  type Operation,
  RadioState,
} from '@headset-cloud/proto/device_link/v1/device_link_pb.ts';
import { cut } from '@headset-cloud/runtime/characters.ts';
import { maxListEntries, textBounds } from '../bounds.ts';

/**
 * Findings of a headset, restricted to the specified values (specification Callbacks 3 and 8). Values that depend on
 * the operation are restricted by `connectivityBody`.
 */
export interface ConnectivityFinding {
  readonly statusCode: number;
  readonly state: 'enabled' | 'disabled' | 'unknown';
  readonly devices: readonly FoundDevice[];
  readonly networks: readonly FoundNetwork[];
}

interface FoundDevice {
  readonly status: { readonly mode: string; readonly registered: boolean };
  readonly name: string;
  readonly alias: string;
  readonly address: string;
}

interface FoundNetwork {
  readonly status: { readonly mode: string; readonly registered: boolean };
  readonly level: number;
  readonly name: string;
  readonly networkId: number;
  readonly security: string;
}

/** Finding of an operation that failed without a report. */
const noFinding: ConnectivityFinding = { statusCode: 500, state: 'unknown', devices: [], networks: [] };

const deviceModes: Partial<Record<BluetoothMode, string>> = {
  [BluetoothMode.CONNECTED]: 'connected',
  [BluetoothMode.DISCONNECTED]: 'disconnected',
  [BluetoothMode.DETECTED]: 'detected',
  [BluetoothMode.DELETED]: 'deleted',
};
const networkModes: Partial<Record<NetworkMode, string>> = {
  [NetworkMode.CONNECTED]: 'connected',
  [NetworkMode.AVAILABLE]: 'available',
};
const networkTypes: Partial<Record<NetworkType, string>> = {
  [NetworkType.WIFI]: 'wifi',
  [NetworkType.MOBILE]: 'mobile',
  [NetworkType.APN]: 'apn',
};
const targets: Partial<Record<ConnectivityTarget, string>> = {
  [ConnectivityTarget.ALL]: 'all',
  [ConnectivityTarget.CONNECTED]: 'connected',
};

/** Allowed status codes of each kind of operation (specification Callbacks 8). */
const statusCodes = {
  list: [200, 403, 500],
  state: [200, 400, 500],
  reset: [200, 500],
  pairing: [200, 400, 403, 404, 409, 500],
} as const;

/** Converts a headset's result: cuts texts to their limits, maps unknown values to known ones. */
export function findingOf(result: ConnectivityResult): ConnectivityFinding {
  return {
    statusCode: result.statusCode,
    state:
      result.state === RadioState.ENABLED
        ? 'enabled'
        : result.state === RadioState.DISABLED
          ? 'disabled'
          : 'unknown',
    devices: result.devices.slice(0, maxListEntries).map((d) => ({
      status: { mode: deviceModes[d.mode] ?? 'disconnected', registered: d.registered },
      name: cut(d.name, textBounds.name),
      alias: cut(d.alias, textBounds.name),
      address: cut(d.address, textBounds.name),
    })),
    networks: result.networks.slice(0, maxListEntries).map((n) => ({
      status: { mode: networkModes[n.mode] ?? 'unavailable', registered: n.registered },
      level: n.level,
      name: cut(n.name, textBounds.name),
      networkId: n.networkId,
      security: securityOf(n.security),
    })),
  };
}

/** Maps a reported variant, for example WPA2-PSK, to one of the specification's three values. */
function securityOf(reported: string): string {
  if (/wpa|sae|eap|psk/i.test(reported)) return 'WPA';
  return /wep/i.test(reported) ? 'WEP' : 'NONE';
}

/**
 * Returns the fields of a connectivity result after the common fields. Without a finding (the operation failed in the
 * cloud, or the headset reported none) the status code is 500 and the lists are empty. A failure never has status
 * code 200.
 */
export function connectivityBody(
  operation: Operation['kind'] | undefined,
  end: {
    readonly success: boolean;
    readonly message: string;
    readonly connectivity?: ConnectivityFinding;
  },
): Record<string, unknown> {
  const found = end.connectivity ?? noFinding;
  const statusCode = (allowed: readonly number[]): number =>
    allowed.includes(found.statusCode) && (end.success || found.statusCode !== 200) ? found.statusCode : 500;
  const { message } = end;
  switch (operation?.case) {
    case 'listConnectivity': {
      const networkType = networkTypes[operation.value.networkType] ?? 'bluetooth';
      return {
        message,
        networkType,
        target: targets[operation.value.target] ?? 'available',
        statusCode: statusCode(statusCodes.list),
        ...(networkType === 'bluetooth'
          ? { devices: withModes(found.devices, 'detected') }
          : { networks: found.networks }),
      };
    }
    case 'readConnectivityState':
    case 'setConnectivityState':
      return {
        message,
        networkType: networkTypes[operation.value.networkType] ?? 'bluetooth',
        statusCode: statusCode(statusCodes.state),
        state: found.state,
      };
    case 'resetConnectivity':
      return {
        message,
        networkType: networkTypes[operation.value.networkType] ?? 'bluetooth',
        statusCode: statusCode(statusCodes.reset),
      };
    // addPairing, changePairing, deletePairing.
    default:
      return {
        message,
        networkType: 'bluetooth',
        statusCode: statusCode(statusCodes.pairing),
        devices: withModes(found.devices, 'deleted'),
      };
  }
}

/** The operation allows the modes connected, disconnected and `third`; replaces any other mode with disconnected. */
function withModes(devices: readonly FoundDevice[], third: 'detected' | 'deleted'): readonly FoundDevice[] {
  return devices.map((d) =>
    ['connected', 'disconnected', third].includes(d.status.mode)
      ? d
      : { ...d, status: { ...d.status, mode: 'disconnected' } },
  );
}
