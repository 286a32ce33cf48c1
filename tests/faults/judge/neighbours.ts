import type { Case } from './case.ts';
import type { Check } from './check.ts';
import { reportValue } from './reports.ts';

/** A healthy destination may take so long, and twice as long as in the rest of the run: a busy machine is slow always. */
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
  const times = evidence.reports.flatMap((r) => {
    const arrivedMs = arrivals.get(`${r.applicationId} ${r.deviceId} ${r.value}`);
    return r.taken && arrivedMs !== undefined ? [{ r, tookMs: arrivedMs - r.atMs }] : [];
  });
  const during = (atMs: number) => evidence.backlogs.find((b) => atMs >= b.fromMs && atMs <= b.toMs);
  const slowestElsewhere = Math.max(0, ...times.filter(({ r }) => !during(r.atMs)).map((t) => t.tookMs));
  return times
    .filter(({ r }) => (during(r.atMs)?.applicationId ?? r.applicationId) !== r.applicationId)
    .filter(({ tookMs }) => tookMs > Math.max(patienceMs, 2 * slowestElsewhere))
    .map(({ r, tookMs }) => `${r.applicationId}: ${r.value} of ${r.deviceId} took ${tookMs} ms`);
}
