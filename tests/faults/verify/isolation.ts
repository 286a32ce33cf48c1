import type { Check } from './check.ts';
import type { IndexedEvidence } from './indexed-evidence.ts';
import { reportValue } from './reports.ts';

/** Permitted delay at a healthy endpoint, or twice the longest delay of the rest of the run if that is longer. */
const patienceMs = 20_000;

/** Data of one customer must not reach another customer, and load of one customer must not delay another. */
export function verifyIsolation(c: IndexedEvidence): Check[] {
  return [
    { name: 'no state of an earlier activation is readable', violations: noEarlierState(c) },
    { name: 'a failing endpoint does not delay other endpoints', violations: noDelayOfOthers(c) },
  ];
}

/** Each read value must have been reported in the current activation; its date shows when. */
function noEarlierState({ evidence: { readings, reports, otherClocks } }: IndexedEvidence): string[] {
  return readings.flatMap((r) => {
    if (r.location === undefined) return [];
    const reported = reports.find(
      (report) =>
        report.operationId === 'notify-location' &&
        report.deviceId === r.deviceId &&
        report.value === r.location,
    );
    const clockWasWrong = otherClocks.some((c) => c.toMs >= r.activatedAtMs && c.fromMs <= r.readAtMs);
    if (
      !reported ||
      reported.atMs >= r.activatedAtMs ||
      (r.updatedAtMs ?? 0) >= r.activatedAtMs ||
      clockWasWrong
    ) {
      return [];
    }
    return [`${r.applicationId} reads ${r.location} of ${r.deviceId}, reported before its activation`];
  });
}

function noDelayOfOthers({ evidence, others }: IndexedEvidence): string[] {
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
