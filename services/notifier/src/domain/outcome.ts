import { type BackoffBounds, backoffMs } from '@headset-cloud/kit/backoff.ts';
import type { AttemptRecord, Delivery, DeliveryChange } from './delivery.ts';
import { agedAtMs, endsAtMs, isOver, type TimeLimit } from './time-limit.ts';

/** What came of one HTTP request. */
export interface AttemptResult extends AttemptRecord {
  /** The destination's Retry-After, within bounds; milliseconds. Only for 429 and 503. */
  readonly retryAfterMs?: number;
}

/** The word for metrics. */
export type OutcomeWord = 'delivered' | 'failed' | 'gone';

/** 2xx delivers, 410 ends, everything else is tried again, a redirect included (rule C10). */
export function outcomeWord(result: AttemptResult): OutcomeWord {
  if (result.statusCode >= 200 && result.statusCode < 300) return 'delivered';
  return result.statusCode === 410 ? 'gone' : 'failed';
}

const keptAttempts = 20;
/** Of so many of the last attempts, and of the first one, the answer is kept. */
const keptAnswers = 3;

/** What an attempt is judged by. */
export interface AttemptRules {
  readonly backoff: BackoffBounds;
  readonly limit: TimeLimit;
}

/** How a delivery stands after an attempt: ended, or to be tried again at `nextAttemptAtMs`. */
export type AttemptChange = DeliveryChange &
  (
    | { readonly status: 'delivered' | 'dead' }
    | { readonly status: 'pending'; readonly nextAttemptAtMs: number }
  );

/**
 * How the delivery stands after an attempt. Pure: `random` in [0, 1) is the jitter; `probes` are those
 * of others that count as its attempts.
 */
export function afterAttempt(
  delivery: Delivery,
  result: AttemptResult,
  { backoff, limit }: AttemptRules,
  probes: number,
  random: number,
): AttemptChange {
  const { atMs, durationMs, statusCode, error, host, answer } = result;
  const attempts = delivery.attempts + 1;
  const endedAtMs = atMs + durationMs;
  const change = {
    attempts,
    lastOutcome: error || String(statusCode),
    recentAttempts: keptOf([
      ...delivery.recentAttempts,
      {
        ...{ atMs, durationMs, statusCode, error },
        ...(host !== undefined && { host }),
        ...(answer && { answer }),
      },
    ]),
  };
  switch (outcomeWord(result)) {
    case 'delivered':
      return { ...change, ...ended('delivered', endedAtMs), deliveredAtMs: endedAtMs };
    case 'gone':
      return { ...change, ...ended('dead', endedAtMs) };
    default: {
      const tried = { ...delivery, attempts };
      if (isOver(tried, probes, endedAtMs, limit)) return { ...change, ...ended('dead', endedAtMs) };
      const pauseMs = result.retryAfterMs ?? backoffMs(attempts, backoff, random);
      // The last attempt is made when the time is over, not before; then it goes on to its tenth.
      const agedMs = agedAtMs(delivery, limit);
      const latestMs = endedAtMs < agedMs ? agedMs : endsAtMs(delivery, limit);
      const nextAttemptAtMs = Math.min(endedAtMs + pauseMs, latestMs);
      return { ...change, status: 'pending', nextAttemptAtMs };
    }
  }
}

/** The first attempt and the last ones: what changed in between is rarely asked for. */
function keptOf(attempts: readonly AttemptRecord[]): AttemptRecord[] {
  const [first, ...others] = attempts;
  if (!first) return [];
  const last = others.slice(-(keptAttempts - 1));
  return [
    first,
    ...last.map((attempt, i) => {
      if (i >= last.length - keptAnswers || attempt.answer === undefined) return attempt;
      const { answer: _, ...rest } = attempt;
      return rest;
    }),
  ];
}

/** The fields of a delivery that is worked on no more. */
export function ended<S extends 'delivered' | 'dead' | 'replaced'>(
  status: S,
  nowMs: number,
): DeliveryChange & { status: S } {
  return { status, owner: null, nextAttemptAtMs: 0, dueAtMs: nowMs };
}
