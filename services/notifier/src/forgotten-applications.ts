import { type Clock, monotonicMs } from '@headset-cloud/kit/clock.ts';
import type { ForgetMarks } from '@headset-cloud/kit/forget/marks.ts';
import type { ForgottenApplications } from './ports.ts';

/** How often an instance reads the marks: one read of a few documents, however many notifications there are. */
const readEveryMs = 5000;
/**
 * Longer than a read of another instance may take that began before the mark was stored, and then a callback's
 * first record (a second, ADR 0050).
 */
const graceMs = 5000;

/** The applications whose notifications are dropped (ADR 0047); marks stay as long as the log keeps events. */
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
    // The batch that asked comes again, and then asks again.
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
