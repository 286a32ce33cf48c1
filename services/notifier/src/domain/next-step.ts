import { backoffMs } from '@headset-cloud/kit/backoff.ts';
import { mayBeReplaced } from './chain.ts';
import type { Delivery, DeliveryChange } from './delivery.ts';
import { type AttemptChange, ended } from './outcome.ts';

/** A pause up to this is waited for in memory; a longer one in the database, without an owner. */
export const longestWaitInMemoryMs = 5000;

/**
 * What came of one try at a delivery. attempted: a request was made; all others are no attempts.
 *
 * blocked: an earlier one of its order key is not finished. lost: another instance owns it. overtaken: a
 * progress behind which a later event arrived first. over: past its hard end (rule B10). unset: its
 * setting has no address or key. unknown: the database or devices cannot tell. deferred: the destination
 * takes nothing now, or this instance stops. cut: a shutdown cut the request off.
 */
export type TryOutcome =
  | { readonly kind: 'attempted'; readonly change: AttemptChange }
  | { readonly kind: 'blocked'; readonly untilMs: number }
  | { readonly kind: 'lost' | 'overtaken' | 'over' | 'unset' | 'unknown' | 'deferred' | 'cut' };

/** What is around a delivery at the end of a try. Wall clock, milliseconds since 1970. */
export interface Surroundings {
  readonly nowMs: number;
  /** It is the first of its chain; an earlier event of its order key may have come meanwhile. */
  readonly first: boolean;
  /** It is the last of its chain; a later event of its order key may have come meanwhile. */
  readonly last: boolean;
  /** Everything before it under its order key is known to be finished. */
  readonly inOrder: boolean;
  /** Room is needed for deliveries that can go. Asked only for `blocked`. */
  readonly crowded: boolean;
  readonly stopping: boolean;
}

/**
 * What is to be done with the delivery of a try, and with the chain in which it stands.
 *
 * end: store the change, take it out. drop: take it out, store nothing. wait: in memory. release: the
 * whole chain to the database, without an owner, due at `untilMs`. give back: the same, due when each is
 * due by itself. again: the chain is tried at once, before others.
 */
export type Step =
  | {
      readonly kind: 'end';
      readonly change: DeliveryChange;
      /** It, and all before it under its order key, is finished. */
      readonly finishesOrder: boolean;
    }
  | {
      readonly kind: 'wait';
      readonly delayMs: number;
      /** Undefined: nothing to be stored. */
      readonly change: DeliveryChange | undefined;
      readonly finishesOrder: boolean;
    }
  | {
      readonly kind: 'release';
      readonly untilMs: number;
      /** Of the delivery that was tried. */
      readonly change: DeliveryChange | undefined;
      readonly finishesOrder: boolean;
    }
  | { readonly kind: 'drop' | 'again' | 'give back' };

const drop: Step = { kind: 'drop' };
const again: Step = { kind: 'again' };
const giveBack: Step = { kind: 'give back' };

/** Decides what follows on a try at `delivery` (rules A20 and B10). Pure. */
export function nextStep(delivery: Delivery, outcome: TryOutcome, around: Surroundings): Step {
  switch (outcome.kind) {
    case 'attempted':
      return afterRequest(delivery, outcome.change, around);
    case 'blocked':
      // What it waits for may have come into its own chain meanwhile, and can be tried now.
      if (!around.first) return again;
      if (around.crowded) return release(outcome.untilMs, undefined, false);
      return pause(outcome.untilMs, undefined, false, around);
    case 'lost':
      return drop;
    case 'overtaken':
      return end(ended('replaced', around.nowMs), false);
    case 'over':
      return end(givenUp(delivery, 'its time was over', around.nowMs), false);
    case 'cut':
      return giveBack;
    default:
      return again;
  }
}

/** The change of a delivery that is given up without another attempt. */
export function givenUp(delivery: Pick<Delivery, 'lastOutcome'>, reason: string, nowMs: number) {
  return { ...ended('dead', nowMs), lastOutcome: delivery.lastOutcome || reason };
}

/**
 * Whether a change is stored only while this instance owns the delivery. What was delivered was
 * delivered, whoever owns it now.
 */
export function needsOwnership(change: DeliveryChange): boolean {
  return change.status !== 'delivered';
}

function afterRequest(delivery: Delivery, change: AttemptChange, around: Surroundings): Step {
  const { order } = delivery;
  if (change.status !== 'pending') {
    // An end without a delivery finishes the order only once it is stored (readiness.ts).
    const delivered = order === 'ended' && change.status === 'delivered';
    return end(change, delivered || (order === 'tried' && around.inOrder));
  }
  if (order === 'tried') {
    // Tried once: the next may go, and this one is tried again on its own (rule A20). Where it went out
    // of order, its patience being over, those before it are not finished.
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
 * For how long a whole lane starts nothing after a try, in milliseconds. `unknownInARow`: tries one after
 * another, this one included, of which the database or devices could not tell. `random` in [0, 1).
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
