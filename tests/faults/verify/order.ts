import type { Check } from './check.ts';
import type { IndexedEvidence } from './indexed-evidence.ts';

const shown = 3;

/** Order of headsets' notifications (rule A20): per device and endpoint, first attempts follow the report ids. */
export function verifyOrder(c: IndexedEvidence): Check[] {
  return [
    { name: 'a headset’s notifications first arrive in the order of its reports', violations: inOrder(c) },
  ];
}

/** Returns the report id in a webhook-id of the form device-<IMEI>-<report>[-<field>]. */
function reportOf({
  webhookId,
  body,
}: {
  webhookId: string;
  body: { deviceId?: string };
}): number | undefined {
  const prefix = `device-${body?.deviceId}-`;
  if (!webhookId.startsWith(prefix)) return undefined;
  const id = Number.parseInt(webhookId.slice(prefix.length), 10);
  return Number.isNaN(id) ? undefined : id;
}

interface Overtaken {
  readonly webhookId: string;
  readonly report: number;
  /** The later report that arrived earlier, and its notification. */
  readonly behind: number;
  readonly behindId: string;
}

/**
 * Returns notifications that first arrived after the notification of a later report, by headset and endpoint. Those in
 * `impatient` may overtake, because a notification waits at most 60 s for an earlier one (rule A20).
 */
export function overtaken(
  arrivals: IndexedEvidence['evidence']['arrivals'],
  impatient: ReadonlySet<string>,
): Map<string, Overtaken[]> {
  const newest = new Map<string, { report: number; webhookId: string }>();
  const found = new Map<string, Overtaken[]>();
  const seen = new Set<string>();
  for (const arrival of arrivals) {
    const { webhookId, body } = arrival;
    const report = reportOf(arrival);
    if (report === undefined || seen.has(webhookId)) continue;
    seen.add(webhookId);
    const to = typeof body.file === 'string' ? 'files' : 'events';
    const line = `${body.applicationId} ${body.deviceId} ${to}`;
    const before = newest.get(line);
    if (before && report < before.report) {
      const late = { webhookId, report, behind: before.report, behindId: before.webhookId };
      found.set(line, [...(found.get(line) ?? []), late]);
    } else if (!impatient.has(webhookId)) newest.set(line, { report, webhookId });
  }
  return found;
}

function inOrder({ evidence }: IndexedEvidence): string[] {
  const tried = new Set(evidence.triedBefore);
  return [...overtaken(evidence.arrivals, new Set(evidence.impatient))].flatMap(([line, all]) => {
    const late = all.filter(({ webhookId }) => !tried.has(webhookId));
    const examples = late.slice(0, shown).map(({ report, behind }) => `${report} after ${behind}`);
    return late.length > 0 ? [`${line}: ${late.length} too late, for example ${examples.join(', ')}`] : [];
  });
}
