import type { AppAnswer, Report } from '@headset-cloud/proto/device_link/v1/device_link_pb.ts';
import type { DeviceReportEvent } from '@headset-cloud/proto/device_link/v1/events_pb.ts';
import { cut } from '@headset-cloud/runtime/characters.ts';
import { textBounds } from '../domain/bounds.ts';
import type { ReportDeps } from './dependencies.ts';
import { reporterOf, reportTime } from './reporter.ts';

/** Stores the answer of a called app. An answer before the result ends the transaction (rule A8). */
export async function applyAnswer(
  { store, outbox, clock }: ReportDeps,
  event: DeviceReportEvent,
  report: Report,
  appAnswer: AppAnswer,
): Promise<void> {
  const id = Number(appAnswer.transactionId);
  const answer = {
    success: appAnswer.success,
    message: cut(appAnswer.message, textBounds.message),
    customData: cut(appAnswer.customData, textBounds.customData),
    atMs: reportTime(event, report, clock),
  };
  const answered = await store.answer(id, reporterOf(event, report), answer, clock.now());
  if (answered) outbox.publish(answered);
}
