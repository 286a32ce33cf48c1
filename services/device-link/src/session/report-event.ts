import { create, toBinary } from '@bufbuild/protobuf';
import { foreignContentHeader, unknownIn } from '@headset-cloud/eventlog/decode.ts';
import { type OutgoingEvent, topics } from '@headset-cloud/eventlog/types.ts';
import type { Hello, Report } from '@headset-cloud/proto/device_link/v1/device_link_pb.ts';
import { DeviceReportEventSchema } from '@headset-cloud/proto/device_link/v1/events_pb.ts';

type Body =
  | { readonly case: 'hello'; readonly value: Hello }
  | { readonly case: 'report'; readonly value: Report };

/** Data of the cloud at the start of a session; published with the hello. */
export interface SessionBegin {
  /** The device's activation epoch; absent if the activation could not be read. */
  readonly activationEpoch?: bigint | undefined;
  /** Two headsets probably use the identity of the device (admission/displacements.ts). */
  readonly sharedIdentity?: boolean;
}

/** Event of a hello or a report, with its topics. */
export interface ReportEvent {
  readonly topics: readonly string[];
  /** Keyed by the headset. */
  readonly event: OutgoingEvent;
}

/**
 * Returns the event of a hello or a report. Reports about transactions have their own topic, because they are the most
 * frequent reports, and only the service transactions consumes them.
 */
export function reportEvent(
  session: { readonly deviceId: string; readonly epoch: number },
  receivedAtMs: number,
  body: Body,
  /** Trace context of the transaction that the report is about; empty without a transaction or a trace. */
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
  // With this header, consumers skip fields that they do not know, instead of waiting for an upgrade.
  if (unknownIn(DeviceReportEventSchema, event)) headers[foreignContentHeader] = 'headset';
  const value = toBinary(DeviceReportEventSchema, event);
  return { topics: topicsOf(body), event: { key: session.deviceId, value, headers } };
}

function topicsOf(body: Body): readonly string[] {
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

/** Returns the id of the transaction that a report is about; undefined if there is none. */
export function transactionOf({ body }: Report): bigint | undefined {
  switch (body.case) {
    case 'result':
    case 'revoked':
    case 'appAnswer':
    case 'progress':
      return body.value.transactionId;
    case 'bluetoothConnection':
      // 0: no transaction caused the connection.
      return body.value.transactionId || undefined;
    default:
      return undefined;
  }
}
