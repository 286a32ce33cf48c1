import { create, toBinary } from '@bufbuild/protobuf';
import { publishInParts } from '@headset-cloud/eventlog/publish-in-parts.ts';
import { type EventLog, type OutgoingEvent, topics } from '@headset-cloud/eventlog/types.ts';
import { UsageEventSchema, UsageKind } from '@headset-cloud/proto/billing/v1/events_pb.ts';
import type { Report } from '@headset-cloud/proto/device_link/v1/device_link_pb.ts';
import { Destination, NotificationEventSchema } from '@headset-cloud/proto/notifier/v1/events_pb.ts';
import type { TransactionsService } from '@headset-cloud/proto/transactions/v1/service_pb.ts';
import type { Client } from '@headset-cloud/rpc/types.ts';
import {
  type Associations,
  activatedAtMs,
  applicationAt,
  notifiedApplication,
} from '../domain/association.ts';
import { changePresence, type Presence, type SessionChange } from '../domain/network-status.ts';
import type { DeviceNotification } from '../domain/notification.ts';
import { isNotifying, notificationsOf } from '../domain/notifications.ts';
import { speechUsed } from '../domain/speech-usage.ts';
import type { DevicesMetrics } from '../metrics.ts';
import { causesOf } from './causes.ts';
import { networkNotification } from './session-events.ts';

interface Arrival {
  readonly deviceId: string;
  readonly receivedAtMs: number;
  readonly traceparent: string;
}

/** A report with its arrival. */
interface ReceivedReport extends Arrival {
  readonly report: Report;
}

/** A report, or the start or end of a session. */
export type Received = ReceivedReport | (Arrival & { readonly change: SessionChange });

export interface ReportEventsDependencies {
  readonly transactions: Pick<Client<typeof TransactionsService>, 'getTransaction'>;
  readonly log: Pick<EventLog, 'publish'>;
  readonly metrics: DevicesMetrics;
}

/** Activations and presence of the devices of a batch, by device id. */
export type KnownDevices = Map<string, Associations & { presence: Presence }>;

/**
 * Publishes the events that result from reports: notifications for the application that has activated the device, and
 * usage for billing. Resolves when the log has stored the events. A repeated event has the same id, so that consumers
 * recognize the repeat. Requires reports with checked times (rule A24).
 */
export async function publishReportEvents(
  { transactions, log, metrics }: ReportEventsDependencies,
  received: readonly Received[],
  devices: KnownDevices,
): Promise<void> {
  const relevant = received.filter(
    (one) => 'change' in one || isNotifying(one.report) || one.report.body.case === 'speechUsage',
  );
  if (relevant.length === 0) return;
  const causes = await causesOf(transactions, relevant, devices);
  const notifications: OutgoingEvent[] = [];
  const usage: OutgoingEvent[] = [];
  for (const one of relevant) {
    const known = devices.get(one.deviceId);
    if ('change' in one) {
      if (!known) continue;
      const { presence, changed } = changePresence(known.presence, one.change);
      // The next event of the batch is compared with the presence after this event.
      devices.set(one.deviceId, { ...known, presence });
      const applicationId = known.current?.applicationId;
      if (!changed || applicationId === undefined) continue;
      const about = { deviceId: one.deviceId, applicationId };
      const notification = networkNotification(one.change, presence, about);
      notifications.push(notificationEvent(metrics, notification, applicationId, one));
    } else if (one.report.body.case === 'speechUsage') usage.push(...usageEvents(metrics, one, known));
    else notifications.push(...notificationEvents(metrics, one, known, causes.get(one)));
  }
  await Promise.all([
    publishInParts(log, topics.notifications, notifications),
    publishInParts(log, topics.usage, usage),
  ]);
}

function notificationEvents(
  metrics: DevicesMetrics,
  { deviceId, receivedAtMs, traceparent, report }: ReceivedReport,
  associations: Associations | undefined,
  cause: number | undefined,
): OutgoingEvent[] {
  const applicationId = notifiedApplication(associations, Number(report.activationEpoch));
  if (applicationId === undefined) {
    metrics.reportsDropped.inc({ reason: 'not_associated' });
    return [];
  }
  const atMs = Number(report.occurredAtMs);
  const notifications = notificationsOf(report, { applicationId, deviceId, atMs }, cause);
  if (notifications.length === 0) metrics.reportsDropped.inc({ reason: 'out_of_specification' });
  const arrival = { deviceId, receivedAtMs, traceparent };
  return notifications.map((one, part) =>
    notificationEvent(metrics, one, applicationId, arrival, { reportId: report.reportId, part }),
  );
}

/** Position of a notification in the order of all notifications of the device's reports (rule A20). */
interface OrderPosition {
  readonly reportId: bigint;
  /** Number among the notifications of one report. */
  readonly part: number;
}

function notificationEvent(
  metrics: DevicesMetrics,
  notification: DeviceNotification,
  applicationId: string,
  { deviceId, receivedAtMs, traceparent }: Arrival,
  position?: OrderPosition,
): OutgoingEvent {
  metrics.notifications.inc({ kind: notification.kind });
  const order = position && {
    orderKey: `device-${deviceId}`,
    reportId: position.reportId,
    sequence: position.part,
  };
  return outgoing(
    deviceId,
    encode(notification, applicationId, receivedAtMs, traceparent, order),
    traceparent,
  );
}

const destinations = {
  deviceEvent: Destination.DEVICE_EVENT,
  fileUploadEvent: Destination.FILE_UPLOAD_EVENT,
} as const;

/**
 * Encodes a notification. The time limit of the callback starts at the arrival of the report. Without `order` the
 * callback may be sent before or after other callbacks.
 */
function encode(
  { id, destination, body }: DeviceNotification,
  applicationId: string,
  receivedAtMs: number,
  traceparent: string,
  order?: { readonly orderKey: string; readonly reportId: bigint; readonly sequence: number },
): Uint8Array {
  return toBinary(
    NotificationEventSchema,
    create(NotificationEventSchema, {
      notificationId: id,
      applicationId,
      destination: destinations[destination],
      ...order,
      body: Buffer.from(JSON.stringify(body)),
      createdAtMs: BigInt(receivedAtMs),
      traceparent,
    }),
  );
}

/**
 * Returns the usage of a report. It is charged to the application of the report's activation epoch, even if another one
 * has the device now.
 */
function usageEvents(
  metrics: DevicesMetrics,
  { deviceId, receivedAtMs, traceparent, report }: ReceivedReport,
  associations: Associations | undefined,
): OutgoingEvent[] {
  if (report.body.case !== 'speechUsage') return [];
  const { startedAtMs, durationMs } = report.body.value;
  const epoch = Number(report.activationEpoch);
  const used = speechUsed(
    { startedAtMs: Number(startedAtMs), durationMs: Number(durationMs) },
    { receivedAtMs, activatedAtMs: activatedAtMs(associations, epoch) },
    (reason) => metrics.timesReplaced.inc({ time: 'speech_usage', reason }),
  );
  const applicationId = applicationAt(associations, epoch);
  if (!used || applicationId === undefined) {
    metrics.reportsDropped.inc({ reason: used ? 'not_associated' : 'out_of_specification' });
    return [];
  }
  const event = create(UsageEventSchema, {
    usageId: `speech-${deviceId}-${report.reportId}`,
    applicationId,
    deviceId,
    kind: UsageKind.SPEECH_RECOGNITION,
    startedAtMs: BigInt(used.startedAtMs),
    durationMs: BigInt(used.durationMs),
    ...(used.reportedStartedAtMs !== undefined && {
      reportedStartedAtMs: BigInt(used.reportedStartedAtMs),
    }),
  });
  return [outgoing(deviceId, toBinary(UsageEventSchema, event), traceparent)];
}

function outgoing(key: string, value: Uint8Array, traceparent: string): OutgoingEvent {
  return { key, value, ...(traceparent && { headers: { traceparent } }) };
}
