import type { Case } from './case.ts';
import type { Check } from './check.ts';
import { reportValue } from './reports.ts';

/** Permitted delay at a healthy destination; or, if longer, twice the longest delay of the rest of the run. */
const patienceMs = 20_000;

/** Data or load of one customer must not reach or slow down another. */
export function judgeNeighbours(c: Case): Check[] {
  return [
    { name: 'no state of an earlier activation is readable', violations: nothingOld(c) },
    { name: 'a failing destination does not delay the others', violations: leavesAlone(c) },
  ];
}

/** A value that is read was reported in this activation, or again in it (its date shows this). */
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
    return [`${r.applicationId} reads ${r.location} of ${r.deviceId}, reported before its activation`];
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
