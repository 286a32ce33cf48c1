import type { ForgetMarks } from '@headset-cloud/rules/forget/marks.ts';
import { type Clock, monotonicMs } from '@headset-cloud/runtime/clock.ts';
import type { ForgottenApplications } from './ports/forgotten-applications.ts';

/** Interval at which an instance reads the marks: one read of a few documents, whatever the number of notifications. */
const readEveryMs = 5000;
/**
 * Longer than another instance's read that began before the mark was stored, plus the time until a callback's first
 * record (a second, ADR 0050); milliseconds.
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
    // The batch that asked is repeated, and then asks again.
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
