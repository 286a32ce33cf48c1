import { backoffMs } from '@headset-cloud/runtime/backoff.ts';
import { mayBeReplaced } from './chain.ts';
import type { Delivery, DeliveryChange } from './delivery.ts';
import { type AttemptChange, ended } from './outcome.ts';

/** Longest pause in memory. During a longer pause the delivery waits in the database, without an owner. */
export const longestWaitInMemoryMs = 5000;

/**
 * Outcome of one try of a delivery. Only an attempted try has made a request and counts as an attempt.
 *
 * blocked: an earlier delivery of the order key is not finished. lost: another instance owns the delivery. overtaken: a
 * progress that arrived after a later event. over: its final time limit has passed (rule B10). unset: its setting has
 * no address or key. unknown: the database or devices is unavailable. deferred: the destination accepts nothing now, or
 * this instance stops. aborted: a shutdown aborted the request.
 */
export type TryOutcome =
  | { readonly kind: 'attempted'; readonly change: AttemptChange }
  | { readonly kind: 'blocked'; readonly untilMs: number }
  | { readonly kind: 'lost' | 'overtaken' | 'over' | 'unset' | 'unknown' | 'deferred' | 'aborted' };

/** State around a delivery at the end of a try. Wall clock, milliseconds since 1970. */
export interface Surroundings {
  readonly nowMs: number;
  /** True if it is the first of its chain; an earlier event of its order key may have arrived during the try. */
  readonly first: boolean;
  /** True if it is the last of its chain; a later event of its order key may have arrived during the try. */
  readonly last: boolean;
  /** True if everything before it under its order key is known to be finished. */
  readonly inOrder: boolean;
  /** True if memory is needed for deliveries that can be sent. Used only for `blocked`. */
  readonly crowded: boolean;
  readonly stopping: boolean;
}

/**
 * Next step for the delivery of a try, and for its chain.
 *
 * end: store the change, remove the delivery. drop: remove it, store nothing. wait: keep it in memory. release: move
 * the whole chain to the database, without an owner, due at `untilMs`. give back: like release, but each delivery keeps
 * its own due time. again: the chain is tried at once, before others.
 */
export type Step =
  | {
      readonly kind: 'end';
      readonly change: DeliveryChange;
      /** True if the delivery and all before it under its order key are finished. */
      readonly finishesOrder: boolean;
    }
  | {
      readonly kind: 'wait';
      readonly delayMs: number;
      /** Undefined if nothing must be stored. */
      readonly change: DeliveryChange | undefined;
      readonly finishesOrder: boolean;
    }
  | {
      readonly kind: 'release';
      readonly untilMs: number;
      /** Change of the delivery that was tried. */
      readonly change: DeliveryChange | undefined;
      readonly finishesOrder: boolean;
    }
  | { readonly kind: 'drop' | 'again' | 'give back' };

const drop: Step = { kind: 'drop' };
const again: Step = { kind: 'again' };
const giveBack: Step = { kind: 'give back' };

/** Decides the next step after a try of `delivery` (rules A20 and B10). Pure. */
export function nextStep(delivery: Delivery, outcome: TryOutcome, around: Surroundings): Step {
  switch (outcome.kind) {
    case 'attempted':
      return afterRequest(delivery, outcome.change, around);
    case 'blocked':
      // An earlier delivery has joined the chain during the try, and can be tried now.
      if (!around.first) return again;
      if (around.crowded) return release(outcome.untilMs, undefined, false);
      return pause(outcome.untilMs, undefined, false, around);
    case 'lost':
      return drop;
    case 'overtaken':
      return end(ended('replaced', around.nowMs), false);
    case 'over':
      return end(givenUp(delivery, 'time limit reached', around.nowMs), false);
    case 'aborted':
      return giveBack;
    default:
      return again;
  }
}

/** The change for a delivery that is given up without another attempt. */
export function givenUp(delivery: Pick<Delivery, 'lastOutcome'>, reason: string, nowMs: number) {
  return { ...ended('dead', nowMs), lastOutcome: delivery.lastOutcome || reason };
}

/** The change for a delivery that is given to any instance with free memory. */
export function givenBack({ nextAttemptAtMs }: Pick<Delivery, 'nextAttemptAtMs'>): DeliveryChange {
  // Keeps its due time: if it were due only from now on, deliveries that arrived later would be claimed first.
  return { owner: null, dueAtMs: nextAttemptAtMs };
}

/**
 * True if a change is stored only while this instance owns the delivery. A success is stored whatever instance owns the
 * delivery now.
 */
export function needsOwnership(change: DeliveryChange): boolean {
  return change.status !== 'delivered';
}

function afterRequest(delivery: Delivery, change: AttemptChange, around: Surroundings): Step {
  const { order } = delivery;
  if (change.status !== 'pending') {
    // An end without a delivery finishes the order only when it is stored (readiness.ts).
    const delivered = order === 'ended' && change.status === 'delivered';
    return end(change, delivered || (order === 'tried' && around.inOrder));
  }
  if (order === 'tried') {
    // After its first attempt the delivery is retried on its own, and the next delivery may be sent (rule A20). If it
    // was sent out of order after its maximum wait, the deliveries before it are not finished.
    return pause(change.nextAttemptAtMs, { ...change, order: 'none' }, around.inOrder, around);
  }
  if (!around.last && mayBeReplaced(delivery)) {
    return end({ ...change, ...ended('replaced', around.nowMs) }, false);
  }
  return pause(change.nextAttemptAtMs, change, false, around);
}

function pause(
  untilMs: number,
  change: DeliveryChange | undefined,
  finishesOrder: boolean,
  { nowMs, stopping }: Surroundings,
): Step {
  const delayMs = untilMs - nowMs;
  if (delayMs > longestWaitInMemoryMs || stopping) return release(untilMs, change, finishesOrder);
  return { kind: 'wait', delayMs: Math.max(delayMs, 0), change, finishesOrder };
}

function release(untilMs: number, change: DeliveryChange | undefined, finishesOrder: boolean): Step {
  return { kind: 'release', untilMs, change, finishesOrder };
}

function end(change: DeliveryChange, finishesOrder: boolean): Step {
  return { kind: 'end', change, finishesOrder };
}

const unknownBackoff = { firstMs: 200, maxMs: 10_000 };

/**
 * How long a whole lane starts nothing after a try; milliseconds. `unknownInARow`: number of consecutive tries,
 * including this one, during which the database or devices was unavailable. `random` in [0, 1).
 */
export function lanePauseMs(
  kind: TryOutcome['kind'],
  unknownInARow: number,
  unsetRetryMs: number,
  random: number,
): number {
  if (kind === 'unset') return unsetRetryMs * (0.8 + 0.4 * random);
  return kind === 'unknown' ? 50 + backoffMs(unknownInARow, unknownBackoff, random) : 0;
}
