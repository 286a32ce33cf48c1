import type { Arrival, Evidence, ListedTransaction } from '../evidence.ts';
import { partOf } from './operations.ts';

/** The evidence, indexed by transaction. */
export interface IndexedEvidence {
  readonly evidence: Evidence;
  readonly byId: ReadonlyMap<number, ListedTransaction>;
  /** First arrivals of each transaction's callbacks (each webhook-id once), in order. */
  readonly firsts: ReadonlyMap<number, readonly Arrival[]>;
  /** Body of each transaction's first end callback. */
  readonly ends: ReadonlyMap<number, Record<string, unknown>>;
  /** First arrivals of callbacks without a transaction, in order. */
  readonly others: readonly Arrival[];
  readonly effects: ReadonlySet<number>;
}

/**
 * False for notifications of headsets' own reports, even if they contain the id of the transaction that caused them.
 */
function isOfTransaction(body: Arrival['body']): boolean {
  return body?.transactionId !== undefined && !String(body.operationId).startsWith('notify-');
}

export function indexEvidence(evidence: Evidence): IndexedEvidence {
  const firsts = new Map<number, Arrival[]>();
  const others: Arrival[] = [];
  const seen = new Set<string>();
  for (const arrival of evidence.arrivals) {
    if (!arrival.verified || seen.has(arrival.webhookId)) continue;
    seen.add(arrival.webhookId);
    if (!isOfTransaction(arrival.body)) {
      others.push(arrival);
      continue;
    }
    const id = Number(arrival.body.transactionId);
    const list = firsts.get(id);
    if (list) list.push(arrival);
    else firsts.set(id, [arrival]);
  }
  const ends = new Map<number, Record<string, unknown>>();
  for (const [id, list] of firsts) {
    const end = list.find((a) => partOf(a.body) === 'end');
    if (end) ends.set(id, end.body);
  }
  return {
    evidence,
    byId: new Map(evidence.transactions.map((t) => [t.transactionId, t])),
    firsts,
    ends,
    others,
    effects: new Set(evidence.effects.map((e) => e.transactionId)),
  };
}
