import type { Evidence, ReadFeed } from '../evidence.ts';
import { type Check, repeated } from './check.ts';

const shown = 3;

/** Compares the event feeds with the callbacks that arrived at the integrators' servers (ADR 0053). */
export function verifyFeed(evidence: Evidence): Check[] {
  const { feeds } = evidence;
  return [
    {
      name: 'the feed has every callback that arrived',
      violations: feeds.flatMap((f) => missing(f, evidence)),
    },
    {
      name: 'every event in the feed arrived, unless it was replaced or given up',
      violations: feeds.flatMap((f) => undelivered(f, evidence)),
    },
    {
      name: 'no event is in the feed twice, or inserted before an issued cursor',
      violations: feeds.flatMap(unstable),
    },
    { name: 'the feed keeps the order of each transaction', violations: feeds.flatMap(disordered) },
    { name: 'no request for the feed is rejected', violations: feeds.flatMap(({ refusals }) => refusals) },
  ];
}

function missing({ applicationId, followed }: ReadFeed, { arrivals }: Evidence): string[] {
  const known = new Set(followed);
  const arrived = arrivals.filter(({ verified, body }) => verified && body?.applicationId === applicationId);
  const ids = new Set(arrived.map(({ webhookId }) => webhookId));
  return [...ids].filter((id) => !known.has(id)).map((id) => `${id} is not in the feed of ${applicationId}`);
}

function undelivered({ applicationId, followed }: ReadFeed, { arrivals, notDelivered }: Evidence): string[] {
  const arrived = new Set(arrivals.map(({ webhookId }) => webhookId));
  const excused = new Set(notDelivered);
  return followed
    .filter((id) => !arrived.has(id) && !excused.has(id))
    .map((id) => `${id} of the feed of ${applicationId} never arrived`);
}

/** The reader during the faults and the reader at the end must get the same events in the same order per subject. */
function unstable({ applicationId, followed, again }: ReadFeed): string[] {
  const twice = [followed, again].flatMap(repeated);
  const feed = `in the feed of ${applicationId}`;
  const [then, now] = [Map.groupBy(followed, subjectOf), Map.groupBy(again, subjectOf)];
  const different = [...new Set([...then.keys(), ...now.keys()])].flatMap((subject) => {
    const [before, after] = [then.get(subject) ?? [], now.get(subject) ?? []];
    const at = before.length > after.length ? after.length : before.findIndex((id, i) => after[i] !== id);
    if (at < 0 && before.length === after.length) return [];
    const place = at < 0 ? before.length : at;
    const [old, fresh] = [before, after].map(
      (ids) => ids.slice(place, place + shown).join(', ') || 'nothing',
    );
    return [`event ${place} of ${subject} ${feed}: ${fresh}; the reader during the faults got ${old}`];
  });
  return [...twice.map((id) => `${id} came twice ${feed}`), ...different];
}

/** Returns the transaction or device, whose callbacks are ordered, or else the callback's own id. */
function subjectOf(id: string): string {
  return /^(tx-\d+|device-\d+)-/.exec(id)?.[1] ?? id;
}

const places: Readonly<Record<string, number>> = {
  ...{ accepted: 0, progress: 1, processed: 2, canceled: 2, answer: 3 },
};

function disordered({ applicationId, followed }: ReadFeed): string[] {
  const last = new Map<string, number>();
  return followed.flatMap((id) => {
    const [, transaction, kind] = /^tx-(\d+)-(accepted|progress|processed|canceled|answer)/.exec(id) ?? [];
    if (transaction === undefined || kind === undefined) return [];
    const place = places[kind] ?? 0;
    const before = last.get(transaction) ?? 0;
    last.set(transaction, Math.max(before, place));
    return place < before ? [`${id} comes too late in the feed of ${applicationId}`] : [];
  });
}
