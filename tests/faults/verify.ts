import type { Evidence } from './evidence.ts';
import { verifyAcknowledged } from './verify/acknowledged.ts';
import type { Check } from './verify/check.ts';
import { verifyFeed } from './verify/feed.ts';
import { verifyFiles } from './verify/files.ts';
import { indexEvidence } from './verify/indexed-evidence.ts';
import { verifyIsolation } from './verify/isolation.ts';
import { verifyOperators } from './verify/operators.ts';
import { verifyOrder } from './verify/order.ts';
import { verifyReports } from './verify/reports.ts';
import { verifySora } from './verify/sora.ts';
import { verifyTransactions } from './verify/transactions.ts';
import { verifyUpdates } from './verify/updates.ts';
import { verifyUsage } from './verify/usage.ts';

/** Verifies the evidence of a run. Each check is one promise of docs/rules.md, part B. */
export function verify(evidence: Evidence): Check[] {
  const c = indexEvidence(evidence);
  return [
    { name: 'nothing is unfinished at the end', violations: evidence.unfinished },
    ...verifyTransactions(c),
    ...verifyReports(c),
    ...verifyFiles(c),
    ...verifyUpdates(c),
    ...verifySora(c),
    ...verifyUsage(c),
    ...verifyAcknowledged(c),
    ...verifyOrder(c),
    ...verifyIsolation(c),
    ...verifyOperators(evidence),
    ...verifyFeed(evidence),
  ];
}
