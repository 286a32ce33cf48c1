import {
  type BluetoothConnection,
  BluetoothMode,
} from '@headset-cloud/proto/device_link/v1/device_link_pb.ts';
import type { DeviceNotification, ReportSubject } from './notification.ts';
import { clip } from './text.ts';

/** Bounds of what headsets say (protocol page, "Limits"); characters. */
const longest = { message: 1024, name: 128 } as const;
const mostDevices = 256;

/**
 * notify-bluetooth-connection (specification callbacks-and-site.md section 3, ruling A16). Status and
 * modes that it does not know are held to those that it does, texts and the list to their bounds.
 */
export function connectionNotification(
  id: string,
  { transactionId, statusCode, message, devices }: BluetoothConnection,
  { applicationId, deviceId, atMs }: ReportSubject,
): DeviceNotification {
  const operationId = 'notify-bluetooth-connection';
  const cause = Number(transactionId);
  return {
    id,
    destination: 'deviceEvent',
    kind: operationId,
    body: {
      applicationId,
      deviceId,
      timestamp: atMs,
      transactionId: cause > 0 && Number.isSafeInteger(cause) ? cause : null,
      operationId,
      message: clip(message, longest.message),
      networkType: 'bluetooth',
      statusCode: statusCode === 200 ? 200 : 500,
      devices: devices.slice(0, mostDevices).map(({ mode, registered, name, alias, address }) => ({
        status: { mode: mode === BluetoothMode.CONNECTED ? 'connected' : 'disconnected', registered },
        name: clip(name, longest.name),
        alias: clip(alias, longest.name),
        address: clip(address, longest.name),
      })),
    },
  };
}
