import type { ForgetMarks } from '@headset-cloud/rules/forget/marks.ts';
import { type Clock, monotonicMs } from '@headset-cloud/runtime/clock.ts';
import type { ForgottenApplications } from './ports/forgotten-applications.ts';

/** Interval at which an instance reads the marks: one read of a few documents, whatever the number of notifications. */
const readEveryMs = 5000;
/**
 * Time for two things: another instance's read of the marks that began before the mark was stored, and the first record
 * of a callback (one second, ADR 0050). Milliseconds.
 */
const graceMs = 5000;

/** The applications whose notifications are dropped (ADR 0047). Marks are kept as long as the log keeps events. */
export function createForgottenApplications(
  marks: Pick<ForgetMarks, 'applications'>,
  clock: Clock,
): ForgottenApplications {
  let reading: { readonly untilMs: number; readonly marks: Promise<ReadonlyMap<string, number>> } | undefined;

  const read = () => {
    const nowMs = monotonicMs(clock);
    if (reading && nowMs < reading.untilMs) return reading.marks;
    const begun = { untilMs: nowMs + readEveryMs, marks: marks.applications() };
    reading = begun;
    // After a failed read the batch is retried, and the retry reads the marks again.
    begun.marks.catch(() => {
      if (reading === begun) reading = undefined;
    });
    return begun.marks;
  };

  return {
    read,
    async isKnownEverywhere(applicationId) {
      const beganAtMs = (await marks.applications()).get(applicationId);
      return beganAtMs !== undefined && clock.now() - beganAtMs >= readEveryMs + graceMs;
    },
  };
}
