import { create, fromBinary, type MessageInitShape, toBinary } from '@bufbuild/protobuf';
import { foreignContentHeader, unknownIn } from '@headset-cloud/eventlog/decode.ts';
import { topics } from '@headset-cloud/eventlog/types.ts';
import { UsageEventSchema } from '@headset-cloud/proto/billing/v1/events_pb.ts';
import { DeviceReportEventSchema } from '@headset-cloud/proto/device_link/v1/events_pb.ts';
import {
  Destination,
  type NotificationEvent,
  NotificationEventSchema,
} from '@headset-cloud/proto/notifier/v1/events_pb.ts';
import { imei, type World } from './world.ts';

type EventInit = MessageInitShape<typeof DeviceReportEventSchema>;
type ReportBody = Extract<NonNullable<EventInit['body']>, { case: 'report' }>['value']['body'];

const destinationNames = new Map<Destination, string>(
  Object.entries(Destination).map(([name, value]) => [value, name]),
);

/** Default arrival time of reports; milliseconds since 1970. */
export const receivedAtMs = 1_800_000_000_000;
/** Default time of reported events; milliseconds since 1970. */
export const occurredAtMs = 1_750_000_000_000;

let lastReportId = 100;

/** A headset's report as an event of the topic. The default ids rise. */
export function report(
  body: ReportBody,
  more: {
    deviceId?: string;
    reportId?: number;
    activationEpoch?: number;
    occurredAtMs?: number;
    receivedAtMs?: number;
    sessionEpoch?: number;
    snapshot?: boolean;
  } = {},
) {
  lastReportId += 1;
  const {
    deviceId = imei(0),
    reportId = lastReportId,
    activationEpoch = 1,
    occurredAtMs: happenedAtMs = occurredAtMs,
  } = more;
  const message = create(DeviceReportEventSchema, {
    deviceId,
    sessionEpoch: BigInt(more.sessionEpoch ?? 1),
    receivedAtMs: BigInt(more.receivedAtMs ?? receivedAtMs),
    body: {
      case: 'report',
      value: {
        reportId: BigInt(reportId),
        occurredAtMs: BigInt(happenedAtMs),
        activationEpoch: BigInt(activationEpoch),
        snapshot: more.snapshot ?? false,
        body,
      },
    },
  });
  // device-link sets this header for content that it does not know itself.
  const foreign = unknownIn(DeviceReportEventSchema, message) !== undefined;
  return {
    key: deviceId,
    value: toBinary(DeviceReportEventSchema, message),
    ...(foreign && { headers: { [foreignContentHeader]: 'headset' } }),
  };
}

/** Notifications that this service published for the notifier, oldest first, with parsed bodies. */
export async function notifications(world: World) {
  const events = await world.log.readNewest(topics.notifications, 1000);
  return events.map((one) => {
    const { body, ...event } = fromBinary(NotificationEventSchema, one.value) as NotificationEvent;
    return {
      key: one.key,
      id: event.notificationId,
      applicationId: event.applicationId,
      destination: destinationNames.get(event.destination),
      orderKey: event.orderKey,
      reportId: Number(event.reportId),
      sequence: event.sequence,
      replaceable: event.replaceable,
      createdAtMs: Number(event.createdAtMs),
      body: JSON.parse(Buffer.from(body).toString()) as Record<string, unknown>,
    };
  });
}

/** Usage that this service published for billing, oldest first. */
export async function usage(world: World) {
  const events = await world.log.readNewest(topics.usage, 1000);
  return events.map((one) => ({ key: one.key, ...fromBinary(UsageEventSchema, one.value) }));
}
