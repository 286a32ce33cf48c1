import { resetOperation } from './forms/operations.ts';
import { cancelMessages, type Status } from './state.ts';

/** The fields of an unprocessed transaction that a judgement needs. */
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
  /** The newest session whose hello showed that the headset has lost it, as `judgeLost` says; 0 if none. */
  readonly lostEpoch: number;
  /** When a re-delivery last counted; 0 if none did. Milliseconds since 1970. */
  readonly countedAtMs: number;
  /** How far it had come at the last judgement, as `advanceOf` counts. */
  readonly countedAdvance: number;
  /** The highest progress it ever reported, 0.0 to 1.0. */
  readonly bestProgress: number;
  /** Message of the cancellation that the cloud wishes (rule A11); empty: none. */
  readonly wish: string;
}

/** The state in which a headset holds a transaction. */
export type HeldAs = 'offered' | 'started' | 'finished';
export type Held = ReadonlyMap<number, HeldAs>;

export interface OnlineSession {
  readonly epoch: number;
  readonly held: Held;
  /** The headset's client can answer `revoke`. */
  readonly knowsRevoke: boolean;
  /** The session before it was closed because the headset did not answer. */
  readonly afterUnresponsive: boolean;
  readonly floor: { readonly epoch: number; readonly message: string };
  /** Largest number of re-deliveries. */
  readonly retryLimit: number;
  /** Re-deliveries within this time count once; milliseconds. */
  readonly retryIntervalMs: number;
  readonly now: number;
}

/** What a judgement writes to a transaction. */
export interface Mark {
  readonly id: number;
  readonly attempts: number;
  /** Set if the judgement counted a re-delivery. */
  readonly countedAtMs?: number;
  /** Set if it has come further than at the last judgement. */
  readonly countedAdvance?: number;
  /** Set if the cloud wishes to cancel it and the headset may have started it. */
  readonly wish?: string;
}

export interface OnlineJudgement {
  /** To be offered; in order of id. */
  readonly offer: readonly Mark[];
  /** Held as started: to be started again without an offer. */
  readonly start: readonly Mark[];
  /** Held as started: the headset is asked to give it up. */
  readonly revoke: readonly Mark[];
  readonly cancel: readonly Cancellation[];
}

export interface Cancellation {
  readonly id: number;
  readonly message: string;
}

/** A transaction that was started and that its headset has lost. */
export interface Lost {
  readonly id: number;
  /** Set if it must not go on, and the headset is to be asked. */
  readonly wish?: string;
}

/** True: it was sent to an earlier session, and the headset no longer holds it. */
export function isGone(
  t: Pick<OpenTransaction, 'id' | 'sentEpoch'>,
  session: { readonly epoch: number; readonly held: Held },
): boolean {
  return t.sentEpoch > 0 && t.sentEpoch < session.epoch && !session.held.has(t.id);
}

/**
 * What happens to a device's unprocessed transactions when its headset comes online (specification API 4;
 * rules A11, B4, B6): transactions below the floor are canceled, the newest of each operation goes on, the
 * older ones and those re-delivered too often are canceled. A transaction that the headset may have begun
 * is not canceled here: the headset is asked first. A finished one stays open for its report. One that was
 * started and is no longer held waits: its result is most likely in the log, and an offer would only bring
 * it once more. The hello, which the log has behind that result, ends it if it is a reset (rule B7), and
 * otherwise shows that it is lost (`judgeLost`, ADR 0057).
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
    // A finished one ends by its report; one that a newer session has is no longer this session's.
    if (held === 'finished' || t.sentEpoch > session.epoch || mayHaveEnded(t, session)) continue;
    // The headset can have started only transactions that the cloud has accepted.
    const goesOn = held === 'started' && t.status === 'accepted' ? start : offer;
    if (isRunningReset(t)) {
      if (held) goesOn.push({ id: t.id, attempts: t.attempts });
      continue;
    }
    const mark = countRetry(t, session);
    const lost = lostBecause(t, mark, session, latest.get(key(t)) === t.id);
    if (!lost) goesOn.push(mark);
    else if (!mayHaveStarted(t, session) || (held === 'offered' && !mayRunHere(t, session))) {
      cancel.push({ id: t.id, message: lost });
    } else if (session.knowsRevoke) (held ? revoke : offer).push({ ...mark, wish: lost });
    // A client that does not know `revoke` is not asked: the result ends the transaction.
    else goesOn.push(mark);
  }
  return { offer, start, revoke, cancel };
}

/**
 * What a session that was judged before still has to get (rule B5): transactions that are not started and
 * were sent to no session, or to an older one; their retry counts do not change. And what its hello, or an
 * earlier one, showed as lost: for that the retry counts now (rule B6).
 */
export function judgeAgain(
  open: readonly OpenTransaction[],
  session: Omit<OnlineSession, 'held'>,
): OnlineJudgement {
  const offer: Mark[] = [];
  const cancel: Cancellation[] = [];
  for (const t of [...open].sort((a, b) => a.id - b.id)) {
    if (t.activationEpoch < session.floor.epoch) cancel.push({ id: t.id, message: session.floor.message });
    else if (t.sentEpoch > session.epoch) continue;
    else if (isLost(t)) offer.push(sentAnew(t, session));
    // Of what was lost and judged since, the answer may not have reached the session.
    else if (t.status !== 'accepted' || t.lostEpoch === session.epoch) {
      offer.push({ id: t.id, attempts: t.attempts });
    }
  }
  return { offer, start: [], revoke: [], cancel };
}

/**
 * What a headset has lost, by the hello of a session; only once everything that it reported before that
 * hello has been consumed: what was started then, is not held, and was sent to earlier sessions only. It is
 * offered anew, so that it ends. Where another of its operation was created after it, it must not take
 * effect behind that one.
 */
export function judgeLost(
  open: readonly OpenTransaction[],
  session: Pick<OnlineSession, 'epoch' | 'held' | 'knowsRevoke'>,
): Lost[] {
  const latest = new Map<string, number>();
  for (const t of open) latest.set(key(t), Math.max(t.id, latest.get(key(t)) ?? 0));
  return open
    .filter((t) => t.status === 'accepted' && !isRunningReset(t) && isGone(t, session))
    .map((t) => {
      const superseded = latest.get(key(t)) !== t.id && !t.wish && session.knowsRevoke;
      return { id: t.id, ...(superseded && { wish: cancelMessages.newer }) };
    });
}

/** Lost, and not sent since. */
function isLost(t: OpenTransaction): boolean {
  return t.status === 'accepted' && t.lostEpoch > t.sentEpoch;
}

/** It was started, is no longer held, and nothing says yet that it is lost: it may have ended. */
function mayHaveEnded(t: OpenTransaction, session: Pick<OnlineSession, 'epoch' | 'held'>): boolean {
  return t.status === 'accepted' && isGone(t, session) && !isLost(t);
}

/** The offer of a lost one. It is not canceled: the headset is asked, if its client can be. */
function sentAnew(t: OpenTransaction, session: Omit<OnlineSession, 'held'>): Mark {
  const mark = countRetry(t, session);
  const wish = lostBecause(t, mark, session, true);
  return { ...mark, ...(wish && session.knowsRevoke && { wish }) };
}

/** The reason why it must not go on; undefined: it may go on. */
function lostBecause(
  t: OpenTransaction,
  mark: Mark,
  session: Pick<OnlineSession, 'retryLimit'>,
  isLatest: boolean,
): string | undefined {
  if (t.wish) return t.wish;
  if (!isLatest) return cancelMessages.newer;
  return mark.attempts > session.retryLimit ? cancelMessages.retryLimit : undefined;
}

/**
 * A re-delivery to a session after an earlier session got it is a retry (rule B6). Retries within the
 * interval count once, so that a flapping network does not use them up, and none counts while the
 * transaction gets further than ever before. After a session whose headset did not answer it always counts.
 */
function countRetry(t: OpenTransaction, session: Omit<OnlineSession, 'held'>): Mark {
  const advance = advanceOf(t);
  const further = advance > t.countedAdvance;
  const same = { id: t.id, attempts: t.attempts, ...(further && { countedAdvance: advance }) };
  if (t.sentEpoch === 0 || t.sentEpoch >= session.epoch) return { id: t.id, attempts: t.attempts };
  // A time in the future was written by a wrong clock.
  const sinceMs = session.now - t.countedAtMs;
  const justCounted = t.countedAtMs > 0 && sinceMs >= 0 && sinceMs < session.retryIntervalMs;
  if (!session.afterUnresponsive && (further || justCounted)) return same;
  return { ...same, attempts: t.attempts + 1, countedAtMs: session.now };
}

/** How far a transaction has come: 0 offered, 1 accepted, more with its progress. */
function advanceOf(t: Pick<OpenTransaction, 'status' | 'bestProgress'>): number {
  return t.status === 'accepted' ? 1 + t.bestProgress : 0;
}

/**
 * The headset can have started only what was accepted, or what may have been accepted before the database was
 * restored from a backup: that bears its wish from the restore on (ADR 0035). A client that does not know
 * `revoke` could not say so.
 */
function mayHaveStarted(t: OpenTransaction, session: OnlineSession): boolean {
  return t.status === 'accepted' || (t.wish !== '' && session.knowsRevoke);
}

/** Its start permit was given to this session, so its `start` may be on the way behind this session's hello. */
function mayRunHere(t: OpenTransaction, session: OnlineSession): boolean {
  return t.status === 'accepted' && t.sentEpoch === session.epoch;
}

function isRunningReset(t: OpenTransaction): boolean {
  return t.operationId === resetOperation && t.status === 'accepted';
}

function key(t: OpenTransaction): string {
  return `${t.operationId} ${t.subject}`;
}
