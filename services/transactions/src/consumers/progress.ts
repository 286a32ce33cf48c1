import type { Progress, Report } from '@headset-cloud/proto/device_link/v1/device_link_pb.ts';
import type { DeviceReportEvent } from '@headset-cloud/proto/device_link/v1/events_pb.ts';
import { cut } from '@headset-cloud/runtime/characters.ts';
import { clampToUnit, textBounds } from '../domain/bounds.ts';
import type { ReportDeps } from './dependencies.ts';
import { reporterOf, reportTime } from './reporter.ts';

/** Stores the progress of an accepted update. A repeated or older report has no effect (rule A9). */
export async function applyProgress(
  { store, outbox, clock }: ReportDeps,
  event: DeviceReportEvent,
  report: Report,
  reported: Progress,
): Promise<void> {
  const progress = {
    reportId: Number(report.reportId),
    value: clampToUnit(reported.progress),
    message: cut(reported.message, textBounds.message),
    atMs: reportTime(event, report, clock),
  };
  const now = clock.now();
  const stored = await store.progress(
    Number(reported.transactionId),
    reporterOf(event, report),
    progress,
    now,
  );
  if (stored) outbox.publish(stored);
}
