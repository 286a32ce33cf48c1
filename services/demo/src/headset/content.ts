export interface InstalledApp {
  readonly package: string;
  readonly version: string;
}

/** A Bluetooth device that is paired, in reach, or both. */
export interface BluetoothNeighbour {
  readonly name: string;
  readonly alias: string;
  /** MAC address. */
  readonly address: string;
  readonly paired: boolean;
  readonly connected: boolean;
  /** Whether the device is in reach. Default true. */
  readonly around?: boolean;
}

/** A Wi-Fi network in reach. */
export interface WifiNeighbour {
  readonly ssid: string;
  /** Signal strength on the headset's own scale. */
  readonly level: number;
  /** `WPA`, `WEP` or `NONE`. */
  readonly security: string;
}

/** The state that a headset has reported in `state_change`. */
export interface Condition {
  readonly power?: string;
  readonly wearing?: string;
  readonly network?: string;
  readonly charging?: string;
  readonly batteryPercentage?: number;
  readonly location?: { readonly latitude: number; readonly longitude: number };
}

/** The content of a headset and its surroundings. Settings are stored in the protocol's JSON form. */
export interface DeviceContent {
  readonly firmwareVersion: string;
  readonly apps: readonly InstalledApp[];
  readonly languages: readonly string[];
  readonly apns: readonly Readonly<Record<string, unknown>>[];
  readonly wifi: readonly { readonly ssid: string; readonly password?: string; readonly security?: string }[];
  /** JSON text; empty if never set. */
  readonly launcherKeys: string;
  readonly bluetoothOn: boolean;
  readonly bluetoothDevices: readonly BluetoothNeighbour[];
  readonly wifiAround: readonly WifiNeighbour[];
  /** Signal level of the mobile network, 0 to 4. */
  readonly signalLevel: number;
  readonly condition: Condition;
}

/** An immutable copy of the content. */
export type DeviceState = Readonly<DeviceContent>;

/** The active language: the first of the list (specification API 5). */
export function languageInUse({ languages }: Pick<DeviceState, 'languages'>): string {
  return languages[0] ?? factoryContent.languages[0] ?? '';
}

/** The content of a new headset. */
export const factoryContent: DeviceContent = {
  firmwareVersion: '9.001.0',
  apps: [],
  languages: ['ja'],
  apns: [],
  wifi: [],
  launcherKeys: '',
  bluetoothOn: true,
  bluetoothDevices: [],
  wifiAround: [],
  signalLevel: 3,
  condition: {},
};
