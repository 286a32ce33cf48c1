import {
  type BluetoothConnection,
  BluetoothMode,
  type Report,
} from '@headset-cloud/proto/device_link/v1/device_link_pb.ts';
import { operationById, ResultForm } from '@headset-cloud/proto/operations.ts';
import { cut } from '@headset-cloud/runtime/characters.ts';
import type { DeviceNotification, ReportSubject } from './notification.ts';

/** The id of the transaction that a report names as the cause of a connection; undefined if the id is not valid. */
export function namedCause({ body }: Pick<Report, 'body'>): number | undefined {
  if (body.case !== 'bluetoothConnection') return undefined;
  const id = Number(body.value.transactionId);
  return id > 0 && Number.isSafeInteger(id) ? id : undefined;
}

/** True if a stored transaction of the application may have caused a connection of the device. */
export function isPairing(
  transaction: { readonly deviceId: string; readonly operationId: string } | undefined,
  deviceId: string,
): boolean {
  if (transaction?.deviceId !== deviceId) return false;
  // Only pairings connect and disconnect Bluetooth devices (rule A16).
  return operationById(transaction.operationId)?.resultForm === ResultForm.BLUETOOTH_PAIRING;
}

/** Maximum lengths of texts from headsets (protocol page, "Limits"); characters. */
const maxLengths = { message: 1024, name: 128 } as const;
const maxDevices = 256;

/**
 * notify-bluetooth-connection (specification Callbacks 3, rule A16). Unknown status codes and modes are mapped to known
 * values. Texts and the list are truncated to their limits. The body names a transaction only if the transaction is
 * known to be the `cause`.
 */
export function connectionNotification(
  id: string,
  { statusCode, message, devices }: BluetoothConnection,
  { applicationId, deviceId, atMs }: ReportSubject,
  cause: number | undefined,
): DeviceNotification {
  const operationId = 'notify-bluetooth-connection';
  return {
    id,
    destination: 'deviceEvent',
    kind: operationId,
    body: {
      applicationId,
      deviceId,
      timestamp: atMs,
      transactionId: cause ?? null,
      operationId,
      message: cut(message, maxLengths.message),
      networkType: 'bluetooth',
      statusCode: statusCode === 200 ? 200 : 500,
      devices: devices.slice(0, maxDevices).map(({ mode, registered, name, alias, address }) => ({
        status: { mode: mode === BluetoothMode.CONNECTED ? 'connected' : 'disconnected', registered },
        name: cut(name, maxLengths.name),
        alias: cut(alias, maxLengths.name),
        address: cut(address, maxLengths.name),
      })),
    },
  };
}
