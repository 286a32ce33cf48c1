import {
  NetworkType,
  type Report,
  type StateChange,
} from '@headset-cloud/proto/device_link/v1/device_link_pb.ts';
import { cut } from '@headset-cloud/runtime/characters.ts';
import { connectionNotification } from './connection-notification.ts';
import type { DeviceNotification, ReportSubject } from './notification.ts';
import { datedFields } from './reported.ts';
import { uploadNotification } from './upload-notification.ts';

/**
 * Maximum lengths of texts, in characters. Even if JSON escapes each character, the event is small enough for the log.
 */
const maxLengths = { customData: 65_536, appText: 4096, networkName: 255 } as const;

/** A notification of a report: its operationId, and the fields of its body that come from the report. */
interface Part {
  readonly operationId: string;
  /** End of the notification's id; distinguishes several notifications of one report. */
  readonly suffix?: string;
  readonly fields: Readonly<Record<string, unknown>>;
}

/**
 * True for reports for which this service sends notifications. A snapshot reports no event, so it causes no
 * notification (rule A7).
 */
export function isNotifying({ body: { case: kind, value }, snapshot }: Report): boolean {
  if (kind === 'stateChange' && (snapshot || isOnlyNetwork(value))) return false;
  return kind !== undefined && (kind in partsOf || kind === 'fileUpload' || kind === 'bluetoothConnection');
}

/**
 * The notifications of a report (specification Callbacks 3). Values outside the specification cause no notification. A
 * state change of several fields causes one notification for each field. `cause`: id of the transaction that caused a
 * Bluetooth connection, if that transaction is known to be a pairing.
 */
export function notificationsOf(
  report: Report,
  subject: ReportSubject,
  cause?: number,
): DeviceNotification[] {
  const { body } = report;
  const id = `device-${subject.deviceId}-${report.reportId}`;
  const { applicationId, deviceId, atMs } = subject;
  if (body.case === 'bluetoothConnection') return [connectionNotification(id, body.value, subject, cause)];
  if (body.case === 'fileUpload') return [uploadNotification(id, body.value, subject)];
  const parts =
    body.case && body.case in partsOf ? partsOf[body.case as NotifyingKind](body.value as never) : [];
  return parts.map(({ operationId, suffix, fields }) => ({
    id: suffix ? `${id}-${suffix}` : id,
    destination: 'deviceEvent',
    kind: operationId,
    body: { applicationId, deviceId, timestamp: atMs, operationId, ...fields },
  }));
}

type ReportValue<K extends string> = Extract<Report['body'], { case: K }>['value'];
type NotifyingKind =
  | 'stateChange'
  | 'customData'
  | 'appStatus'
  | 'networkLevel'
  | 'volume'
  | 'signal'
  | 'bluetoothSwitch';

const one = (operationId: string, fields: Part['fields']): Part[] => [{ operationId, fields }];
const isLevel = (level: number) => level >= 0 && level <= 4;

const partsOf: { readonly [K in NotifyingKind]: (value: ReportValue<K>) => Part[] } = {
  stateChange: stateParts,
  customData: ({ success, customData }) =>
    one('notify-custom-data', {
      success,
      message: 'notify ACTION_SEND_CUSTOM_DATA message.',
      customData: cut(customData, maxLengths.customData),
    }),
  appStatus: ({ status, text }) =>
    status === 'started' || status === 'finished'
      ? one('notify-app-status', {
          type: 'app_status',
          appType: 'device',
          appStatus: status,
          text: cut(text, maxLengths.appText),
        })
      : [],
  networkLevel: ({ networkType, active, networkName, level }) => {
    const typeName = networkTypeNames.get(networkType);
    return typeName && isLevel(level)
      ? one('notify-network-level', {
          status: 'network_level',
          networkType: typeName,
          active,
          networkName: cut(networkName, maxLengths.networkName),
          networkLevel: level,
        })
      : [];
  },
  volume: ({ min, max, current }) =>
    min <= current && current <= max
      ? one('notify-volume', { status: 'volume', volumeType: 'media', stream: 'music', min, max, current })
      : [],
  signal: ({ level }) =>
    isLevel(level) ? one('notify-signal', { status: 'signal', signalLevel: level }) : [],
  bluetoothSwitch: ({ enabled }) =>
    one('notify-bluetooth', { status: enabled ? 'bluetooth_enabled' : 'bluetooth_disabled' }),
};

const networkTypeNames: ReadonlyMap<NetworkType, string> = new Map([
  [NetworkType.WIFI, 'wifi'],
  [NetworkType.MOBILE, 'mobile'],
]);

/**
 * True if the change reports only the network. A headset's own report of its network is for operators only:
 * notifications contain the network status that the cloud observes (rule A21).
 */
function isOnlyNetwork({ network, ...others }: Pick<StateChange, 'network'>): boolean {
  const { power, wearing, charging, batteryPercentage, location } = others as StateChange;
  const otherValues = [power, wearing, charging, batteryPercentage, location];
  return network !== undefined && otherValues.every((value) => value === undefined);
}

/** One notification for each field with a value that the reported state accepts. */
function stateParts(change: StateChange): Part[] {
  const { power, wearing, charging, battery, location } = datedFields(change, {
    reportId: 0,
    atMs: 0,
    epoch: 0,
  });
  const parts: Part[] = [];
  const add = (suffix: string, operationId: string, fields: Part['fields']) =>
    parts.push({ suffix, operationId, fields });
  if (power) add('power', 'notify-boot', { status: power.value });
  if (wearing) add('wearing', 'notify-device-wearing-status', { usage: wearing.value });
  if (charging) add('charging', 'notify-battery-charging', { usage: charging.value });
  if (battery) {
    const fields = { status: 'battery_changed', batteryPercentage: battery.value };
    add('battery', 'notify-battery-percentage-changed', fields);
  }
  if (location) {
    const { latitude, longitude } = location.value;
    add('location', 'notify-location', {
      status: 'location',
      lat: degrees(latitude),
      lon: degrees(longitude),
    });
  }
  return parts;
}

/** Formats a number as plain decimal text, without an exponent and without trailing zeros. */
function degrees(value: number): string {
  const text = value.toFixed(10).replace(/\.?0+$/, '');
  return text === '-0' ? '0' : text;
}
