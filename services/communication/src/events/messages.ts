import { createHash } from 'node:crypto';
import { create, toBinary } from '@bufbuild/protobuf';
import type { OutgoingEvent } from '@headset-cloud/eventlog/types.ts';
import { UsageEventSchema, UsageKind } from '@headset-cloud/proto/billing/v1/events_pb.ts';
import { type Destination, NotificationEventSchema } from '@headset-cloud/proto/notifier/v1/events_pb.ts';

/** A callback for the notifier. */
export function notification(options: {
  id: string;
  applicationId: string;
  deviceId: string | null;
  destination: Destination;
  orderKey: string;
  sequence: number;
  body: unknown;
  createdAtMs: number;
  /** The parent trace; empty if there is none. */
  traceparent: string;
}): OutgoingEvent {
  const { id, applicationId, deviceId, destination, orderKey, sequence, body, createdAtMs } = options;
  const { traceparent } = options;
  const message = create(NotificationEventSchema, {
    ...{ notificationId: id, applicationId, destination, orderKey, sequence, traceparent },
    body: Buffer.from(JSON.stringify(body)),
    createdAtMs: BigInt(createdAtMs),
  });
  return {
    // All messages of an order key must be in one partition. Otherwise an event without a device could overtake the
    // channel's other events.
    key: orderKey || (deviceId ?? applicationId),
    value: toBinary(NotificationEventSchema, message),
    ...(traceparent && { headers: { traceparent } }),
  };
}

/**
 * A connection's time in a meeting, or a part of it, for billing. The id is the same for each publication (rule B11).
 * `isFirst`: the part begins with the connection.
 */
export function videoUsage(options: {
  isFirst: boolean;
  connectionId: string;
  applicationId: string;
  deviceId: string | null;
  startedAtMs: number;
  durationMs: number;
  traceparent: string;
}): OutgoingEvent {
  const { connectionId, applicationId, deviceId, startedAtMs, durationMs, traceparent, isFirst } = options;
  const message = create(UsageEventSchema, {
    ...{
      usageId: usageIdOf(isFirst ? connectionId : `${connectionId}@${startedAtMs}`),
      applicationId,
      deviceId: deviceId ?? '',
    },
    kind: UsageKind.VIDEO_MEETING,
    startedAtMs: BigInt(startedAtMs),
    durationMs: BigInt(durationMs),
  });
  return {
    key: deviceId ?? applicationId,
    value: toBinary(UsageEventSchema, message),
    ...(traceparent && { headers: { traceparent } }),
  };
}

/** Billing accepts 200 printable ASCII characters. Sora's own ids have 26. Any other id is replaced by its hash. */
function usageIdOf(connectionId: string): string {
  if (/^[\x21-\x7e]{1,195}$/.test(connectionId)) return `sora-${connectionId}`;
  return `sora-sha256:${createHash('sha256').update(connectionId).digest('hex')}`;
}
