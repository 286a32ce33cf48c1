import { add, type Check } from './check.ts';
import type { IndexedEvidence } from './indexed-evidence.ts';

/** Returns the value of a report's notification as text, for comparison. */
export function reportValue(body: Readonly<Record<string, unknown>>): string | undefined {
  switch (body['operationId']) {
    case 'notify-custom-data':
      return String(body['customData']);
    case 'notify-app-status':
      return String(body['text']);
    case 'notify-location':
      return `${body['lat']} ${body['lon']}`;
    case 'notify-battery-percentage-changed':
      return String(body['batteryPercentage']);
    case 'notify-bluetooth-connection':
      // The simulated headset sends 'changed' when it switches Bluetooth.
      return body['transactionId'] === null && body['message'] !== 'changed'
        ? String(body['message'])
        : undefined;
    default:
      return undefined;
  }
}

/** Headsets' own reports: each arrives once, at the application of its activation. */
export function verifyReports(c: IndexedEvidence): Check[] {
  return [
    { name: 'every report of a headset arrives once, and nothing else arrives', violations: eachOnce(c) },
  ];
}

function eachOnce({ evidence, others }: IndexedEvidence): string[] {
  const taken = new Map<string, number>();
  const perhaps = new Map<string, number>();
  const arrived = new Map<string, number>();
  const name = (...parts: string[]) => parts.join(' ');
  for (const r of evidence.reports) {
    add(r.taken ? taken : perhaps, name(r.applicationId, r.deviceId, r.operationId, r.value), 1);
  }
  for (const { body } of others) {
    const value = reportValue(body);
    if (value === undefined) continue;
    add(arrived, name(body.applicationId, body.deviceId, body.operationId, value), 1);
  }
  return [...new Set([...taken.keys(), ...arrived.keys()])].flatMap((key) => {
    const least = taken.get(key) ?? 0;
    const most = least + (perhaps.get(key) ?? 0);
    const count = arrived.get(key) ?? 0;
    return count >= least && count <= most ? [] : [`${key}: reported ${least}, arrived ${count}`];
  });
}
