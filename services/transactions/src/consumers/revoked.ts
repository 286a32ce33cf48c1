import type { Report, Revoked } from '@headset-cloud/proto/device_link/v1/device_link_pb.ts';
import type { DeviceReportEvent } from '@headset-cloud/proto/device_link/v1/events_pb.ts';
import type { ReportDeps } from './dependencies.ts';
import { reporterOf, reportTime } from './reporter.ts';

/**
 * Ends a transaction that the headset has given up: canceled if a cancellation was requested, otherwise failed (rule
 * A11).
 */
export async function applyRevoked(
  { store, outbox, clock }: ReportDeps,
  event: DeviceReportEvent,
  report: Report,
  revoked: Revoked,
): Promise<void> {
  const id = Number(revoked.transactionId);
  const at = reportTime(event, report, clock);
  const ended = await store.revoked(id, reporterOf(event, report), at, clock.now());
  if (ended) outbox.publish(ended);
}
