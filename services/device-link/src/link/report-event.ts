import { create, toBinary } from '@bufbuild/protobuf';
import { foreignContentHeader, unknownIn } from '@headset-cloud/eventlog/decode.ts';
import { type OutgoingEvent, topics } from '@headset-cloud/eventlog/types.ts';
import type { Hello, Report } from '@headset-cloud/proto/device_link/v1/device_link_pb.ts';
import { DeviceReportEventSchema } from '@headset-cloud/proto/device_link/v1/events_pb.ts';

type Said =
  | { readonly case: 'hello'; readonly value: Hello }
  | { readonly case: 'report'; readonly value: Report };

/** What the cloud knew when a session began; goes with its hello. */
export interface SessionBegin {
  /** The device's; absent: it could not be read. */
  readonly activationEpoch?: bigint | undefined;
  /** Two headsets probably use the identity of the device (displacements.ts). */
  readonly sharedIdentity?: boolean;
}

/** What a headset said, and where it goes. */
export interface ReportEvent {
  readonly topics: readonly string[];
  /** Keyed by the headset. */
  readonly event: OutgoingEvent;
}

/**
 * What a headset said, as it stands in the log. Of transactions only one service hears, and most of
 * what headsets say is that: it has a topic of its own, so that the others are left alone.
 */
export function reportEvent(
  session: { readonly deviceId: string; readonly epoch: number },
  receivedAtMs: number,
  body: Said,
  /** Of the transaction it is about; empty when there is none, or no trace. */
  traceparent: string,
  begin: SessionBegin = {},
): ReportEvent {
  const event = create(DeviceReportEventSchema, {
    deviceId: session.deviceId,
    sessionEpoch: BigInt(session.epoch),
    receivedAtMs: BigInt(receivedAtMs),
    activationEpoch: begin.activationEpoch ?? 0n,
    sharedIdentity: begin.sharedIdentity ?? false,
    body,
  });
  const headers: Record<string, string> = {};
  if (traceparent) headers['traceparent'] = traceparent;
  // What the headset says and nobody here knows must not wait for an upgrade: consumers pass over it.
  if (unknownIn(DeviceReportEventSchema, event)) headers[foreignContentHeader] = 'headset';
  const value = toBinary(DeviceReportEventSchema, event);
  return { topics: topicsOf(body), event: { key: session.deviceId, value, headers } };
}

function topicsOf(body: Said): readonly string[] {
  if (body.case === 'hello') return [topics.transactionReports, topics.deviceReports];
  switch (body.value.body.case) {
    case 'result':
    case 'revoked':
    case 'progress':
    case 'appAnswer':
      return [topics.transactionReports];
    default:
      return [topics.deviceReports];
  }
}
