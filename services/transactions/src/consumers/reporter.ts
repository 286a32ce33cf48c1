import type { DeviceReportEvent } from '@headset-cloud/proto/device_link/v1/events_pb.ts';
import type { Clock } from '@headset-cloud/runtime/clock.ts';
import { happenedAt } from '../domain/bounds.ts';
import type { Reporter } from '../ports/transitions.ts';

/** When the reported event happened; milliseconds since 1970. */
export function reportTime(event: DeviceReportEvent, report: { occurredAtMs: bigint }, clock: Clock): number {
  return happenedAt(Number(report.occurredAtMs), Number(event.receivedAtMs) || clock.now());
}

/** The device that reports, and the activation epoch of the report. */
export function reporterOf(event: DeviceReportEvent, report: { activationEpoch: bigint }): Reporter {
  return { deviceId: event.deviceId, epoch: Number(report.activationEpoch) };
}
