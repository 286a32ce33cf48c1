import { create, toBinary } from '@bufbuild/protobuf';
import { type OutgoingEvent, topics } from '@headset-cloud/kit/eventlog/types.ts';
import type { Hello, Report } from '@headset-cloud/proto/device_link/v1/device_link_pb.ts';
import { DeviceReportEventSchema } from '@headset-cloud/proto/device_link/v1/events_pb.ts';

type Said =
  | { readonly case: 'hello'; readonly value: Hello }
  | { readonly case: 'report'; readonly value: Report };

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
  /** Of a hello: the device's as it was read when the session began. */
  activationEpoch = 0n,
): ReportEvent {
  const event = create(DeviceReportEventSchema, {
    deviceId: session.deviceId,
    sessionEpoch: BigInt(session.epoch),
    receivedAtMs: BigInt(receivedAtMs),
    activationEpoch,
    body,
  });
  return {
    topics: topicsOf(body),
    event: {
      key: session.deviceId,
      value: toBinary(DeviceReportEventSchema, event),
      ...(traceparent && { headers: { traceparent } }),
    },
  };
}

function topicsOf(body: Said): readonly string[] {
  if (body.case === 'hello') return [topics.transactionReports, topics.deviceReports];
  switch (body.value.body.case) {
    case 'result':
    case 'progress':
    case 'appAnswer':
      return [topics.transactionReports];
    default:
      return [topics.deviceReports];
  }
}
