import { create, toBinary } from '@bufbuild/protobuf';
import { type EventLog, type OutgoingEvent, topics } from '@headset-cloud/kit/eventlog/types.ts';
import { UsageEventSchema, UsageKind } from '@headset-cloud/proto/billing/v1/events_pb.ts';
import type { Report } from '@headset-cloud/proto/device_link/v1/device_link_pb.ts';
import { Destination, NotificationEventSchema } from '@headset-cloud/proto/notifier/v1/events_pb.ts';
import { type Associations, applicationAt, hearer } from '../domain/association.ts';
import type { DeviceNotification } from '../domain/notification.ts';
import { isNotifying, notificationsOf } from '../domain/notifications.ts';
import { occurrence } from '../domain/reported.ts';
import { speechUsed } from '../domain/speech-usage.ts';
import type { DevicesMetrics } from '../metrics.ts';
import type { DeviceReader } from '../ports.ts';
import { publishInParts } from './publish-in-parts.ts';

/** A report as it arrived. */
export interface ReceivedReport {
  readonly deviceId: string;
  readonly receivedAtMs: number;
  readonly traceparent: string;
  readonly report: Report;
}

export interface ReportEventsDependencies {
  readonly reader: Pick<DeviceReader, 'associationsOf'>;
  readonly log: Pick<EventLog, 'publish'>;
  readonly metrics: DevicesMetrics;
}

/**
 * Publishes what reports mean to others: notifications for the application that has the device
 * activated, usage for billing. Resolves when it is in the log. One lookup for all devices; ids are
 * stable, so that a repeat is recognised by whoever consumes it.
 */
export async function publishReportEvents(
  { reader, log, metrics }: ReportEventsDependencies,
  received: readonly ReceivedReport[],
): Promise<void> {
  const told = received.filter(({ report }) => isNotifying(report) || report.body.case === 'speechUsage');
  if (told.length === 0) return;
  const associations = await reader.associationsOf([...new Set(told.map((one) => one.deviceId))]);
  const notifications: OutgoingEvent[] = [];
  const usage: OutgoingEvent[] = [];
  for (const one of told) {
    const known = associations.get(one.deviceId);
    if (one.report.body.case === 'speechUsage') usage.push(...usageEvents(metrics, one, known));
    else notifications.push(...notificationEvents(metrics, one, known));
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
): OutgoingEvent[] {
  const applicationId = hearer(associations, Number(report.activationEpoch));
  if (applicationId === undefined) {
    metrics.reportsDropped.inc({ reason: 'not_associated' });
    return [];
  }
  const atMs = occurrence(Number(report.occurredAtMs), receivedAtMs);
  const notifications = notificationsOf(report, { applicationId, deviceId, atMs });
  if (notifications.length === 0) metrics.reportsDropped.inc({ reason: 'out_of_specification' });
  return notifications.map((one, part) => {
    const place = { deviceId, reportId: report.reportId, part };
    metrics.notifications.inc({ kind: one.kind });
    return outgoing(deviceId, encode(one, place, applicationId, receivedAtMs, traceparent), traceparent);
  });
}

const destinations = {
  deviceEvent: Destination.DEVICE_EVENT,
  fileUploadEvent: Destination.FILE_UPLOAD_EVENT,
} as const;

/** In the order of the device's reports (ruling A20). Its time begins with its arrival. */
function encode(
  { id, destination, body }: DeviceNotification,
  { deviceId, reportId, part }: { deviceId: string; reportId: bigint; part: number },
  applicationId: string,
  receivedAtMs: number,
  traceparent: string,
): Uint8Array {
  return toBinary(
    NotificationEventSchema,
    create(NotificationEventSchema, {
      notificationId: id,
      applicationId,
      destination: destinations[destination],
      orderKey: `device-${deviceId}`,
      reportId,
      sequence: part,
      body: Buffer.from(JSON.stringify(body)),
      createdAtMs: BigInt(receivedAtMs),
      traceparent,
    }),
  );
}

/** Charged to the application that had the device when it happened, also after a change. */
function usageEvents(
  metrics: DevicesMetrics,
  { deviceId, receivedAtMs, traceparent, report }: ReceivedReport,
  associations: Associations | undefined,
): OutgoingEvent[] {
  if (report.body.case !== 'speechUsage') return [];
  const { startedAtMs, durationMs } = report.body.value;
  const used = speechUsed(Number(startedAtMs), Number(durationMs), receivedAtMs);
  const applicationId = applicationAt(associations, Number(report.activationEpoch));
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
  });
  return [outgoing(deviceId, toBinary(UsageEventSchema, event), traceparent)];
}

function outgoing(key: string, value: Uint8Array, traceparent: string): OutgoingEvent {
  return { key, value, ...(traceparent && { headers: { traceparent } }) };
}
