import type { Evidence, Usage } from '../evidence.ts';
import { add, type Check, repeated } from './check.ts';
import type { IndexedEvidence } from './indexed-evidence.ts';

const hourMs = 3_600_000;

/** All usage is recorded and billed exactly once. */
export function verifyUsage({ evidence }: IndexedEvidence): Check[] {
  return [
    { name: 'every use is recorded once', violations: recordedOnce(evidence) },
    { name: 'the sums on the bill match the usage', violations: billed(evidence) },
  ];
}

/** Identifies a use by its unique duration, because usage records in the evidence have no id. */
function nameOf(u: Usage): string {
  return [u.kind, u.applicationId, u.deviceId || 'others', `${u.durationMs} ms`].join(' ');
}

function recordedOnce({ spent, recorded }: Evidence): string[] {
  const sure = new Set(spent.filter((u) => u.taken).map(nameOf));
  const asked = new Set(spent.map(nameOf));
  const found = recorded.map(nameOf);
  const there = new Set(found);
  return [
    ...[...sure].filter((name) => !there.has(name)).map((name) => `${name} is lost`),
    ...repeated(found).map((name) => `${name} is recorded twice`),
    ...[...there].filter((name) => !asked.has(name)).map((name) => `${name} was never used`),
  ];
}

/** Hours are rounded up once per device and type (rule A17). An unconfirmed use counts only if it is recorded. */
function billed({ spent, recorded, bills }: Evidence): string[] {
  const known = new Set(recorded.map(nameOf));
  const sums = new Map<string, number>();
  for (const u of spent) {
    if (u.taken || known.has(nameOf(u)))
      add(sums, `${u.applicationId} ${u.deviceId || 'others'} ${u.kind}`, u.durationMs);
  }
  const amounts = new Map(
    bills.map((b) => [`${b.applicationId} ${b.deviceId || 'others'} ${b.kind}`, b.hours]),
  );
  return [...new Set([...sums.keys(), ...amounts.keys()])].flatMap((key) => {
    const hours = Math.ceil((sums.get(key) ?? 0) / hourMs);
    const amount = amounts.get(key) ?? 0;
    return hours === amount ? [] : [`${key}: ${hours} hours were used, ${amount} are billed`];
  });
}
