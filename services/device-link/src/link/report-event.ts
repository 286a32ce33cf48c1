import { create, toBinary } from '@bufbuild/protobuf';
import type { OutgoingEvent } from '@headset-cloud/kit/eventlog/types.ts';
import type { Hello, Report } from '@headset-cloud/proto/headset/device_link/v1/device_link_pb.ts';
import { DeviceReportEventSchema } from '@headset-cloud/proto/headset/device_link/v1/events_pb.ts';

/** What a headset said, as it stands on the topic device-reports: keyed by the headset. */
export function reportEvent(
  session: { readonly deviceId: string; readonly epoch: number },
  receivedAtMs: number,
  body:
    | { readonly case: 'hello'; readonly value: Hello }
    | { readonly case: 'report'; readonly value: Report },
  /** Of the transaction it is about; empty when there is none, or no trace. */
  traceparent: string,
): OutgoingEvent {
  const event = create(DeviceReportEventSchema, {
    deviceId: session.deviceId,
    sessionEpoch: BigInt(session.epoch),
    receivedAtMs: BigInt(receivedAtMs),
    body,
  });
  return {
    key: session.deviceId,
    value: toBinary(DeviceReportEventSchema, event),
    ...(traceparent && { headers: { traceparent } }),
  };
}
