import { create, toBinary } from '@bufbuild/protobuf';
import { DomainError } from '@headset-cloud/kit/errors.ts';
import { decodeEvent } from '@headset-cloud/kit/eventlog/decode.ts';
import {
  type EventLog,
  type LogEvent,
  type OutgoingEvent,
  topics,
} from '@headset-cloud/kit/eventlog/types.ts';
import type { Failpoints } from '@headset-cloud/kit/failpoints.ts';
import type { Client } from '@headset-cloud/kit/rpc/types.ts';
import type { BluetoothConnection, Report } from '@headset-cloud/proto/device_link/v1/device_link_pb.ts';
import { DeviceReportEventSchema } from '@headset-cloud/proto/device_link/v1/events_pb.ts';
import type { DevicesService } from '@headset-cloud/proto/devices/v1/service_pb.ts';
import { Destination, NotificationEventSchema } from '@headset-cloud/proto/notifier/v1/events_pb.ts';
import {
  type Association,
  belongsTo,
  connectionBody,
  connectionNotificationId,
} from '../domain/connection.ts';
import type { ConnectivityMetrics } from '../metrics.ts';

/** The consumer group: each report reaches this service once, or again after a crash. */
export const deviceReportsGroup = 'connectivity';

/** How many devices are asked about at a time. */
const askedAtOnce = 16;

/** A connection that a headset reported. */
interface Reported {
  readonly event: LogEvent;
  readonly deviceId: string;
  readonly receivedAtMs: number;
  readonly report: Report;
  readonly connection: BluetoothConnection;
}

/**
 * Bluetooth connections that headsets report become notifications to the application that has the
 * device. Idempotent: the notification's id comes from the report's. One publication for a batch.
 */
export function deviceReportsHandler(deps: {
  devices: Pick<Client<typeof DevicesService>, 'getAssociation'>;
  log: Pick<EventLog, 'publish'>;
  failpoints: Failpoints;
  metrics: Pick<ConnectivityMetrics, 'reports'>;
}): (events: readonly LogEvent[]) => Promise<void> {
  return async (events) => {
    const reported = events.map(connectionOf).filter((one) => one !== undefined);
    if (reported.length === 0) return;
    const associations = await associationsOf(
      [...new Set(reported.map(({ deviceId }) => deviceId))],
      deps.devices,
    );
    const notifications = reported.flatMap((one) => {
      const association = associations.get(one.deviceId);
      return association && belongsTo(one.report, association) ? [notification(one, association)] : [];
    });
    deps.metrics.reports('not_associated', reported.length - notifications.length);
    if (notifications.length === 0) return;
    await deps.log.publish(topics.notifications, notifications);
    deps.metrics.reports('published', notifications.length);
    deps.failpoints('connectivity.published');
  };
}

function connectionOf(event: LogEvent): Reported | undefined {
  const { deviceId, receivedAtMs, body } = decodeEvent(DeviceReportEventSchema, event);
  if (body.case !== 'report' || body.value.body.case !== 'bluetoothConnection') return undefined;
  return {
    event,
    deviceId,
    receivedAtMs: Number(receivedAtMs),
    report: body.value,
    connection: body.value.body.value,
  };
}

/** Asked anew for each batch: a device may have gone to another application. */
async function associationsOf(
  deviceIds: readonly string[],
  devices: Pick<Client<typeof DevicesService>, 'getAssociation'>,
): Promise<Map<string, Association>> {
  const found = new Map<string, Association>();
  const ask = async (deviceId: string): Promise<void> => {
    try {
      found.set(deviceId, await devices.getAssociation({ deviceId }));
    } catch (error) {
      // A device that nobody knows has no application either.
      if (!(error instanceof DomainError && error.code === 'not_found')) throw error;
    }
  };
  for (let first = 0; first < deviceIds.length; first += askedAtOnce) {
    await Promise.all(deviceIds.slice(first, first + askedAtOnce).map(ask));
  }
  return found;
}

function notification(
  { event, deviceId, receivedAtMs, report, connection }: Reported,
  { applicationId }: Association,
): OutgoingEvent {
  const traceparent = event.headers['traceparent'] ?? '';
  const origin = { applicationId, deviceId, receivedAtMs };
  const body = connectionBody(origin, Number(report.occurredAtMs), connection);
  return {
    key: deviceId,
    value: toBinary(
      NotificationEventSchema,
      create(NotificationEventSchema, {
        notificationId: connectionNotificationId(deviceId, report.reportId),
        applicationId,
        destination: Destination.DEVICE_EVENT,
        body: Buffer.from(JSON.stringify(body)),
        createdAtMs: BigInt(receivedAtMs),
        traceparent,
      }),
    ),
    ...(traceparent && { headers: { traceparent } }),
  };
}
