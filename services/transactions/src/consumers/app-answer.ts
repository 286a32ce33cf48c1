import type { AppAnswer, Report } from '@headset-cloud/proto/device_link/v1/device_link_pb.ts';
import type { DeviceReportEvent } from '@headset-cloud/proto/device_link/v1/events_pb.ts';
import { cut } from '@headset-cloud/runtime/characters.ts';
import { textBounds } from '../domain/bounds.ts';
import type { ReportDeps } from './dependencies.ts';
import { reporterOf, reportTime } from './reporter.ts';

/** The called app's own answer; it ends the transaction if it comes before the result (rule A8). */
export async function applyAnswer(
  { store, outbox, clock }: ReportDeps,
  event: DeviceReportEvent,
  report: Report,
  said: AppAnswer,
): Promise<void> {
  const id = Number(said.transactionId);
  const answer = {
    success: said.success,
    message: cut(said.message, textBounds.message),
    customData: cut(said.customData, textBounds.customData),
    atMs: reportTime(event, report, clock),
  };
  const answered = await store.answer(id, reporterOf(event, report), answer, clock.now());
  if (answered) outbox.publish(answered);
}
