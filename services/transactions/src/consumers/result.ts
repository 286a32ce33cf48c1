import type { Report, Result } from '@headset-cloud/proto/device_link/v1/device_link_pb.ts';
import type { DeviceReportEvent } from '@headset-cloud/proto/device_link/v1/events_pb.ts';
import { cut } from '@headset-cloud/runtime/characters.ts';
import { textBounds } from '../domain/bounds.ts';
import { findingOf } from '../domain/forms/connectivity.ts';
import type { ReportDeps } from './dependencies.ts';
import { reporterOf, reportTime } from './reporter.ts';

/** Ends a transaction by its result. A result after the end has no effect (rule C7). */
export async function applyResult(
  { store, outbox, clock }: ReportDeps,
  event: DeviceReportEvent,
  report: Report,
  result: Result,
): Promise<void> {
  const id = Number(result.transactionId);
  const end = {
    success: result.success,
    message: cut(result.message, textBounds.message),
    atMs: reportTime(event, report, clock),
    ...(result.connectivity && { connectivity: findingOf(result.connectivity) }),
  };
  const ended = await store.finish(id, reporterOf(event, report), end, clock.now());
  if (ended) outbox.publish(ended);
}
