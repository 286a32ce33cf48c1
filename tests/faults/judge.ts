import type { Evidence } from './evidence.ts';
import { openCase } from './judge/case.ts';
import type { Check } from './judge/check.ts';
import { judgeFeed } from './judge/feed.ts';
import { judgeFiles } from './judge/files.ts';
import { judgeNeighbours } from './judge/neighbours.ts';
import { judgeOperators } from './judge/operators.ts';
import { judgeOrder } from './judge/order.ts';
import { judgeReports } from './judge/reports.ts';
import { judgeSora } from './judge/sora.ts';
import { judgeStanding } from './judge/standing.ts';
import { judgeTransactions } from './judge/transactions.ts';
import { judgeUpdates } from './judge/updates.ts';
import { judgeUsage } from './judge/usage.ts';

/** Judges a run by evidence from outside the platform: each check is one promise of docs/rules.md. */
export function judge(evidence: Evidence): Check[] {
  const c = openCase(evidence);
  return [
    { name: 'nothing is unfinished at the end', violations: evidence.unfinished },
    ...judgeTransactions(c),
    ...judgeReports(c),
    ...judgeFiles(c),
    ...judgeUpdates(c),
    ...judgeSora(c),
    ...judgeUsage(c),
    ...judgeStanding(c),
    ...judgeOrder(c),
    ...judgeNeighbours(c),
    ...judgeOperators(evidence),
    ...judgeFeed(evidence),
  ];
}
