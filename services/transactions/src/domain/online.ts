import { resetOperation } from './forms/operations.ts';
import { cancelMessages, type Status } from './state.ts';

/** An unprocessed transaction, as far as its re-delivery is judged. */
export interface OpenTransaction {
  readonly id: number;
  readonly status: Status;
  readonly operationId: string;
  /** Empty, or "package@version" (latest is judged per package and version for updates). */
  readonly subject: string;
  readonly activationEpoch: number;
  /** Re-deliveries that counted so far. */
  readonly attempts: number;
  /** The newest session it was written to, or judged for; 0 if none. */
  readonly sentEpoch: number;
  /** When the newest re-delivery counted; 0 if none did. Milliseconds since 1970. */
  readonly countedAtMs: number;
  /** How far it had come when that was judged last, as `advanceOf` counts. */
  readonly countedAdvance: number;
  /** The highest progress it ever reported, 0.0 to 1.0. */
  readonly bestProgress: number;
  /** Message of the cancellation that the cloud wishes (rule A11); empty: none. */
  readonly wish: string;
}

/** How a headset says that it holds a transaction. */
export type HeldAs = 'offered' | 'started' | 'finished';
export type Held = ReadonlyMap<number, HeldAs>;

export interface OnlineSession {
  readonly epoch: number;
  readonly held: Held;
  /** Its client answers `revoke`. */
  readonly knowsRevoke: boolean;
  /** The session before it was closed because the headset did not answer. */
  readonly afterUnresponsive: boolean;
  readonly floor: { readonly epoch: number; readonly message: string };
  /** Re-deliveries that are allowed. */
  readonly retryLimit: number;
  /** Re-deliveries within this time count once; milliseconds. */
  readonly retryIntervalMs: number;
  readonly now: number;
}

/** What of a transaction is written with the judgement. */
export interface Mark {
  readonly id: number;
  readonly attempts: number;
  /** Set where the judgement counted a re-delivery. */
  readonly countedAtMs?: number;
  /** Set where it has come further than at the last judgement. */
  readonly countedAdvance?: number;
  /** Set where the cloud wishes to cancel what the headset may have started. */
  readonly wish?: string;
}

export interface OnlineJudgement {
  /** To be offered; in order of id. */
  readonly offer: readonly Mark[];
  /** Held as started: to be started again without an offer. */
  readonly start: readonly Mark[];
  /** Held as started: the headset is asked to leave it. */
  readonly revoke: readonly Mark[];
  readonly cancel: readonly Cancellation[];
}

export interface Cancellation {
  readonly id: number;
  readonly message: string;
}

/** True: an earlier session got it, and the headset that is back knows nothing of it. */
export function isGone(
  t: Pick<OpenTransaction, 'id' | 'sentEpoch'>,
  session: { readonly epoch: number; readonly held: Held },
): boolean {
  return t.sentEpoch > 0 && t.sentEpoch < session.epoch && !session.held.has(t.id);
}

/**
 * What happens to a device's unprocessed transactions when its headset comes online (specification
 * API 4; rules A11, B4, B6): what is below the floor is canceled, the newest of each operation
 * goes on, the older ones and those re-delivered too often are canceled. One that the headset may
 * have begun is not canceled here: the headset is asked first. What it has finished is left to its
 * report. An accepted reset goes on only at a headset that still holds it: one that is back without
 * it is done, and ends by its hello (rule B7).
 */
export function judgeOnline(open: readonly OpenTransaction[], session: OnlineSession): OnlineJudgement {
  const ordered = [...open].sort((a, b) => a.id - b.id);
  const latest = new Map<string, number>();
  for (const t of ordered) {
    if (t.activationEpoch >= session.floor.epoch && !isRunningReset(t)) latest.set(key(t), t.id);
  }
  const offer: Mark[] = [];
  const start: Mark[] = [];
  const revoke: Mark[] = [];
  const cancel: Cancellation[] = [];
  for (const t of ordered) {
    const held = session.held.get(t.id);
    if (t.activationEpoch < session.floor.epoch) {
      cancel.push({ id: t.id, message: session.floor.message });
      continue;
    }
    // A newer session has it: this one is over.
    if (held === 'finished' || t.sentEpoch > session.epoch) continue;
    // Only what the cloud has permitted can have been started.
    const goesOn = held === 'started' && t.status === 'accepted' ? start : offer;
    if (isRunningReset(t)) {
      if (held) goesOn.push({ id: t.id, attempts: t.attempts });
      continue;
    }
    const mark = countRetry(t, session);
    const lost = lostBecause(t, mark, session, latest.get(key(t)) === t.id);
    if (!lost) goesOn.push(mark);
    else if (t.status !== 'accepted' || (held === 'offered' && !mayRunHere(t, session))) {
      cancel.push({ id: t.id, message: lost });
    } else if (session.knowsRevoke) (held ? revoke : offer).push({ ...mark, wish: lost });
    // An older client is not asked: its result ends it, and may be on its way where it is not held.
    else goesOn.push(mark);
  }
  return { offer, start, revoke, cancel };
}

/**
 * What a session that was judged before still has to get (rule B5): what waits unstarted and was
 * handed to nobody, or to a session that is over. Its place in the count of retries stays.
 */
export function judgeAgain(
  open: readonly OpenTransaction[],
  session: Pick<OnlineSession, 'epoch' | 'floor'>,
): OnlineJudgement {
  const ordered = [...open].sort((a, b) => a.id - b.id);
  const below = ordered.filter((t) => t.activationEpoch < session.floor.epoch);
  const waiting = ordered.filter(
    (t) =>
      t.activationEpoch >= session.floor.epoch && t.status !== 'accepted' && t.sentEpoch <= session.epoch,
  );
  return {
    offer: waiting.map(({ id, attempts }) => ({ id, attempts })),
    start: [],
    revoke: [],
    cancel: below.map(({ id }) => ({ id, message: session.floor.message })),
  };
}

/** Why it must not go on; undefined: it may. */
function lostBecause(
  t: OpenTransaction,
  mark: Mark,
  session: OnlineSession,
  isLatest: boolean,
): string | undefined {
  if (t.wish) return t.wish;
  if (!isLatest) return cancelMessages.newer;
  return mark.attempts > session.retryLimit ? cancelMessages.retryLimit : undefined;
}

/**
 * A session that needs what an earlier one was given is a retry (rule B6). Those of a flapping
 * network count once in a while, and not at all while the transaction gets further than ever
 * before; a headset that did not answer always counts.
 */
function countRetry(t: OpenTransaction, session: OnlineSession): Mark {
  const advance = advanceOf(t);
  const further = advance > t.countedAdvance;
  const same = { id: t.id, attempts: t.attempts, ...(further && { countedAdvance: advance }) };
  if (t.sentEpoch === 0 || t.sentEpoch >= session.epoch) return { id: t.id, attempts: t.attempts };
  // A time in the future was written by a clock that was wrong.
  const sinceMs = session.now - t.countedAtMs;
  const justCounted = t.countedAtMs > 0 && sinceMs >= 0 && sinceMs < session.retryIntervalMs;
  if (!session.afterUnresponsive && (further || justCounted)) return same;
  return { ...same, attempts: t.attempts + 1, countedAtMs: session.now };
}

/** How far a transaction has come: 0 offered, 1 accepted, more with its progress. */
function advanceOf(t: Pick<OpenTransaction, 'status' | 'bestProgress'>): number {
  return t.status === 'accepted' ? 1 + t.bestProgress : 0;
}

/** It has its permit, perhaps given to this very session: then its hello does not tell all. */
function mayRunHere(t: OpenTransaction, session: OnlineSession): boolean {
  return t.status === 'accepted' && t.sentEpoch === session.epoch;
}

function isRunningReset(t: OpenTransaction): boolean {
  return t.operationId === resetOperation && t.status === 'accepted';
}

function key(t: OpenTransaction): string {
  return `${t.operationId} ${t.subject}`;
}
