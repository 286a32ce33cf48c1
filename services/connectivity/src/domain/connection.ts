import {
  type BluetoothConnection,
  BluetoothMode,
  type Report,
} from '@headset-cloud/proto/device_link/v1/device_link_pb.ts';
import { bounded, happenedAt, maxDevices, textBounds } from './bounds.ts';

/** Where a report comes from and when it arrived; milliseconds since 1970. */
export interface ReportOrigin {
  readonly applicationId: string;
  readonly deviceId: string;
  readonly receivedAtMs: number;
}

/** The application that has a device activated. */
export interface Association {
  readonly applicationId: string;
  /** The epoch from which on it has had the device without a break. */
  readonly sinceEpoch: bigint;
}

/**
 * Whether a report may be told to the application that has the device now: what happened under an
 * earlier application never reaches a later one.
 */
export function belongsTo(report: Pick<Report, 'activationEpoch'>, association: Association): boolean {
  return association.applicationId !== '' && report.activationEpoch >= association.sinceEpoch;
}

/** The webhook-id: a report's id is unique in its headset's life. */
export function connectionNotificationId(deviceId: string, reportId: bigint): string {
  return `device-${deviceId}-${reportId}`;
}

/**
 * The body of notify-bluetooth-connection (specification callbacks-and-site.md section 3, ruling
 * A16). Status and modes that it does not know are held to those that it does, texts and the list to
 * their bounds.
 */
export function connectionBody(
  origin: ReportOrigin,
  occurredAtMs: number,
  { transactionId, statusCode, message, devices }: BluetoothConnection,
): Record<string, unknown> {
  const cause = Number(transactionId);
  return {
    applicationId: origin.applicationId,
    deviceId: origin.deviceId,
    timestamp: happenedAt(occurredAtMs, origin.receivedAtMs),
    transactionId: cause > 0 && Number.isSafeInteger(cause) ? cause : null,
    operationId: 'notify-bluetooth-connection',
    message: bounded(message, textBounds.message),
    networkType: 'bluetooth',
    statusCode: statusCode === 200 ? 200 : 500,
    devices: devices.slice(0, maxDevices).map(({ mode, registered, name, alias, address }) => ({
      status: { mode: mode === BluetoothMode.CONNECTED ? 'connected' : 'disconnected', registered },
      name: bounded(name, textBounds.name),
      alias: bounded(alias, textBounds.name),
      address: bounded(address, textBounds.name),
    })),
  };
}
