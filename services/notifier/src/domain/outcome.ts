import { type BackoffBounds, backoffMs } from '@headset-cloud/runtime/backoff.ts';
import type { AttemptRecord, Delivery, DeliveryChange } from './delivery.ts';
import { agedAtMs, endsAtMs, isOver, type TimeLimit } from './time-limit.ts';

/** Result of one HTTP request. */
export interface AttemptResult extends AttemptRecord {
  /** The destination's Retry-After within limits; milliseconds. Only for 429 and 503. */
  readonly retryAfterMs?: number;
}

/** Outcome for metrics. */
export type AttemptOutcome = 'delivered' | 'failed' | 'gone';

/** 2xx delivers, 410 ends, everything else is retried, including a redirect (rule C10). */
export function outcomeOf(result: AttemptResult): AttemptOutcome {
  if (result.statusCode >= 200 && result.statusCode < 300) return 'delivered';
  return result.statusCode === 410 ? 'gone' : 'failed';
}

const keptAttempts = 20;
/** The answers of the first attempt and of this many last attempts are kept. */
const keptAnswers = 3;

/** Limits that decide about an attempt. */
export interface AttemptRules {
  readonly backoff: BackoffBounds;
  readonly limit: TimeLimit;
}

/** State of a delivery after an attempt: ended, or to be retried at `nextAttemptAtMs`. */
export type AttemptChange = DeliveryChange &
  (
    | { readonly status: 'delivered' | 'dead' }
    | { readonly status: 'pending'; readonly nextAttemptAtMs: number }
  );

/**
 * State of the delivery after an attempt. Pure: `random` in [0, 1) is the jitter; `probes` is the number of probes with
 * other deliveries that count as its attempts.
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
  switch (outcomeOf(result)) {
    case 'delivered':
      return { ...change, ...ended('delivered', endedAtMs), deliveredAtMs: endedAtMs };
    case 'gone':
      return { ...change, ...ended('dead', endedAtMs) };
    default: {
      const tried = { ...delivery, attempts };
      if (isOver(tried, probes, endedAtMs, limit)) return { ...change, ...ended('dead', endedAtMs) };
      const pauseMs = result.retryAfterMs ?? backoffMs(attempts, backoff, random);
      // A pause is cut so that there is an attempt at the time limit. Then retries continue up to the tenth attempt.
      const agedMs = agedAtMs(delivery, limit);
      const latestMs = endedAtMs < agedMs ? agedMs : endsAtMs(delivery, limit);
      const nextAttemptAtMs = Math.min(endedAtMs + pauseMs, latestMs);
      return { ...change, status: 'pending', nextAttemptAtMs };
    }
  }
}

/** Keeps the first attempt and the last ones, because the attempts in between are rarely needed. */
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

/** The fields of a delivery that has ended. */
export function ended<S extends 'delivered' | 'dead' | 'replaced'>(
  status: S,
  nowMs: number,
): DeliveryChange & { status: S } {
  return { status, owner: null, nextAttemptAtMs: 0, dueAtMs: nowMs };
}
