import type { MessageInitShape } from '@bufbuild/protobuf';
import {
  type UsageEvent,
  type UsageEventSchema,
  UsageKind as WireKind,
} from '@headset-cloud/proto/billing/v1/events_pb.ts';
import { requireUsage, type Usage, type UsageKind } from './domain/usage.ts';

const kinds: Readonly<Record<UsageKind, WireKind>> = {
  videoMeeting: WireKind.VIDEO_MEETING,
  speechRecognition: WireKind.SPEECH_RECOGNITION,
};

/** Reads usage from an event or from an operator's call. Throws `invalid_argument`; the message states the rule. */
export function usageOfMessage(event: UsageEvent): Usage {
  const { usageId, applicationId, deviceId } = event;
  const { reportedStartedAtMs } = event;
  const [kind] = Object.entries(kinds).find(([, wire]) => wire === event.kind) ?? [];
  return requireUsage({
    usageId,
    applicationId,
    deviceId,
    kind: kind as UsageKind | undefined,
    startedAtMs: Number(event.startedAtMs),
    durationMs: Number(event.durationMs),
    ...(reportedStartedAtMs !== undefined && { reportedStartedAtMs: Number(reportedStartedAtMs) }),
  });
}

export function usageMessage({
  reportedStartedAtMs,
  ...usage
}: Usage): MessageInitShape<typeof UsageEventSchema> {
  return {
    ...usage,
    kind: kinds[usage.kind],
    startedAtMs: BigInt(usage.startedAtMs),
    durationMs: BigInt(usage.durationMs),
    ...(reportedStartedAtMs !== undefined && { reportedStartedAtMs: BigInt(reportedStartedAtMs) }),
  };
}
