import type { Case } from './case.ts';
import type { Check } from './check.ts';

const shown = 3;

/** The order of what headsets tell (ruling A20): first attempts, by device and destination, follow the reports' ids. */
export function judgeOrder(c: Case): Check[] {
  return [
    { name: 'a headset’s notifications first arrive in the order of its reports', violations: inOrder(c) },
  ];
}

/** The report's id in a webhook-id of the form device-<IMEI>-<report>[-<field>]. */
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

function inOrder({ evidence }: Case): string[] {
  const newest = new Map<string, number>();
  const overtaken = new Map<string, string[]>();
  const seen = new Set<string>();
  for (const arrival of evidence.arrivals) {
    const { webhookId, body } = arrival;
    const report = reportOf(arrival);
    if (report === undefined || seen.has(webhookId)) continue;
    seen.add(webhookId);
    const to = typeof body.file === 'string' ? 'files' : 'events';
    const line = `${body.applicationId} ${body.deviceId} ${to}`;
    const before = newest.get(line) ?? 0;
    if (report < before) {
      const list = overtaken.get(line) ?? [];
      overtaken.set(line, [...list, `${report} after ${before}`]);
    } else newest.set(line, report);
  }
  return [...overtaken].map(
    ([line, list]) => `${line}: ${list.length} too late, as ${list.slice(0, shown).join(', ')}`,
  );
}
