import type { DeviceReportEvent, Offline } from '@headset-cloud/proto/device_link/v1/events_pb.ts';
import { networkStatus, type Presence, type SessionChange } from '../domain/network-status.ts';
import type { DeviceNotification } from '../domain/notification.ts';

/** The session change in an event; undefined if there is none. */
export function sessionChange(event: DeviceReportEvent): SessionChange | undefined {
  const { body, sessionEpoch, receivedAtMs } = event;
  if (body.case === 'offline') return offlineChange(event, body.value);
  if (body.case !== 'hello') return undefined;
  return { kind: 'online', sessionEpoch: Number(sessionEpoch), atMs: Number(receivedAtMs) };
}

/** The end of a headset's newest session, with a time no later than the arrival of the event. */
export function offlineChange(
  { sessionEpoch, receivedAtMs }: Pick<DeviceReportEvent, 'sessionEpoch' | 'receivedAtMs'>,
  { endedAtMs }: Pick<Offline, 'endedAtMs'>,
): SessionChange {
  const receivedMs = Number(receivedAtMs);
  const atMs = endedAtMs > 0n ? Math.min(Number(endedAtMs), receivedMs) : receivedMs;
  return { kind: 'offline', sessionEpoch: Number(sessionEpoch), atMs };
}

/** The notification of a change of the network status; a repeat has the same id (rule A21). */
export function networkNotification(
  { sessionEpoch, atMs }: SessionChange,
  presence: Presence,
  { applicationId, deviceId }: { readonly applicationId: string; readonly deviceId: string },
): DeviceNotification {
  const network = networkStatus(presence);
  const operationId = 'notify-network-connection-status';
  return {
    id: `device-${deviceId}-session-${sessionEpoch}-${network.status}`,
    destination: 'deviceEvent',
    kind: operationId,
    body: { applicationId, deviceId, timestamp: network.atMs ?? atMs, operationId, status: network.status },
  };
}
