import type { Check } from './check.ts';
import type { IndexedEvidence } from './indexed-evidence.ts';
import { operations, partOf } from './operations.ts';

/** Uploaded packages are deliverable. The progress of an update rises and matches its end. */
export function verifyUpdates(c: IndexedEvidence): Check[] {
  return [
    { name: 'every uploaded package is deliverable and listed once', violations: everyPackage(c) },
    { name: 'an update’s progress rises, from 0 to its end', violations: progressRises(c) },
  ];
}

function everyPackage({ evidence }: IndexedEvidence): string[] {
  const counts = Map.groupBy(evidence.deliverable, (p) => `${p.applicationId} ${p.package} ${p.version}`);
  return evidence.packages.flatMap((p) => {
    const name = `${p.applicationId} ${p.package} ${p.version}`;
    const count = counts.get(name)?.length ?? 0;
    return count === 1 ? [] : [`${name} is listed ${count} times`];
  });
}

function progressRises({ evidence, firsts }: IndexedEvidence): string[] {
  return evidence.transactions
    .filter((t) => t.operationId === operations.update && t.transactionStatus === 'processed')
    .flatMap((t) => {
      const bodies = (firsts.get(t.transactionId) ?? []).map((a) => a.body);
      const values = bodies.map((body) => body.progress as number);
      const rises = values.every((value, i) => value >= 0 && value <= 1 && value >= (values[i - 1] ?? 0));
      const end = bodies.find((body) => partOf(body) === 'end');
      const last = end?.result === 'success' ? 1 : values.at(-1);
      const fair = rises && (bodies[0] === end || values[0] === 0) && end?.progress === last;
      return fair ? [] : [`${t.transactionId} (${end?.result}): ${values.join(', ')}`];
    });
}
