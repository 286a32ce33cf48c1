import type { Case } from './case.ts';
import type { Check } from './check.ts';
import { reportValue } from './reports.ts';

/** A report of a healthy destination's headset takes milliseconds; far above what a busy machine needs. */
const patienceMs = 20_000;

/** What one customer has must not reach or slow down another. */
export function judgeNeighbours(c: Case): Check[] {
  return [
    { name: 'no state of an earlier activation is readable', violations: nothingOld(c) },
    { name: 'a destination that fails leaves the others alone', violations: leavesAlone(c) },
  ];
}

/** What is read was reported in this activation, or said again in it (its date tells). */
function nothingOld({ evidence: { readings, reports, otherClocks } }: Case): string[] {
  return readings.flatMap((r) => {
    if (r.location === undefined) return [];
    const told = reports.find(
      (report) =>
        report.operationId === 'notify-location' &&
        report.deviceId === r.deviceId &&
        report.value === r.location,
    );
    const clockWasWrong = otherClocks.some((c) => c.toMs >= r.activatedAtMs && c.fromMs <= r.readAtMs);
    if (!told || told.atMs >= r.activatedAtMs || (r.updatedAtMs ?? 0) >= r.activatedAtMs || clockWasWrong) {
      return [];
    }
    return [`${r.applicationId} reads ${r.location} of ${r.deviceId}, from before its activation`];
  });
}

function leavesAlone({ evidence, others }: Case): string[] {
  const arrivals = new Map<string, number>();
  for (const { body, atMs } of others) {
    const value = reportValue(body);
    if (value !== undefined) arrivals.set(`${body.applicationId} ${body.deviceId} ${value}`, atMs);
  }
  return evidence.backlogs.flatMap(({ applicationId, fromMs, toMs }) =>
    evidence.reports
      .filter((r) => r.taken && r.applicationId !== applicationId && r.atMs >= fromMs && r.atMs <= toMs)
      .map((r) => ({
        r,
        tookMs: (arrivals.get(`${r.applicationId} ${r.deviceId} ${r.value}`) ?? 0) - r.atMs,
      }))
      .filter(({ tookMs }) => tookMs > patienceMs)
      .map(({ r, tookMs }) => `${r.applicationId}: ${r.value} of ${r.deviceId} took ${tookMs} ms`),
  );
}
