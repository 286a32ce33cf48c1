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
  /**
   * The newest session whose hello, come out of the log, showed that the headset has lost it (ADR 0057); 0:
   * none did, or it has it again.
   */
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
  /** Lost ones behind which another one of their operation was made that has run, or may run. */
  readonly superseded: ReadonlySet<number>;
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
  /** Set if it was taken for lost and the headset holds it after all. */
  readonly found?: true;
}

export interface OnlineJudgement {
  /** To be offered; in order of id. */
  readonly offer: readonly Mark[];
  /** Held as started: to be started again without an offer. */
  readonly start: readonly Mark[];
  /** Held as started: the headset is asked to give it up. */
  readonly revoke: readonly Mark[];
  /** Held as finished, though it was taken for lost: nothing is sent. */
  readonly keep: readonly Mark[];
  readonly cancel: readonly Cancellation[];
}

export interface Cancellation {
  readonly id: number;
  readonly message: string;
  /** Only if it was sent to no newer session than this one since; absent: than the judged one. */
  readonly sentEpoch?: number;
  /** Only while it is lost, by the hello of this session. */
  readonly lostEpoch?: number;
}

/** True: it was sent to an earlier session, and the headset no longer holds it. */
export function isGone(
  t: Pick<OpenTransaction, 'id' | 'sentEpoch'>,
  session: { readonly epoch: number; readonly held: Held },
): boolean {
  return t.sentEpoch > 0 && t.sentEpoch < session.epoch && !session.held.has(t.id);
}

/**
 * Decides what happens to a device's unprocessed transactions when its headset comes online (specification API 4;
 * rules A11, B4, B6). The newest transaction of each operation continues. Transactions below the floor, older
 * transactions and transactions with too many retries are canceled; if the headset may have started such a
 * transaction, the headset is asked first.
 */
export function judgeOnline(open: readonly OpenTransaction[], session: OnlineSession): OnlineJudgement {
  const ordered = inOrder(open);
  const latest = new Map<string, number>();
  for (const t of ordered) {
    if (t.activationEpoch >= session.floor.epoch && !isRunningReset(t)) latest.set(operationKey(t), t.id);
  }
  return judgementOf(ordered.map((t) => decideOnline(t, session, latest.get(operationKey(t)) === t.id)));
}

/**
 * Decides what a session still gets that was judged before (rule B5): transactions that are not started and were sent
 * to no session or to an older session, and transactions that a hello showed as lost. Only the retries of lost
 * transactions count (rule B6).
 */
export function judgeAgain(
  open: readonly OpenTransaction[],
  session: Omit<OnlineSession, 'held'>,
): OnlineJudgement {
  return judgementOf(
    inOrder(open).map((t) => {
      if (t.activationEpoch < session.floor.epoch) return canceledBelowFloor(t, session);
      if (isLost(t, session)) return resend(t, session);
      return t.status !== 'accepted' && t.sentEpoch <= session.epoch
        ? { action: 'offer', mark: unchanged(t) }
        : undefined;
    }),
  );
}

/** The decision about one transaction; undefined: nothing is sent or written. */
type Decision =
  | { readonly action: 'offer' | 'start' | 'revoke' | 'keep'; readonly mark: Mark }
  | { readonly action: 'cancel'; readonly cancellation: Cancellation }
  | undefined;

/** The decisions by action, in the order of the transactions. */
function judgementOf(decisions: readonly Decision[]): OnlineJudgement {
  const marks = (action: string) =>
    decisions.flatMap((one) => (one && one.action === action && 'mark' in one ? [one.mark] : []));
  return {
    offer: marks('offer'),
    start: marks('start'),
    revoke: marks('revoke'),
    keep: marks('keep'),
    cancel: decisions.flatMap((one) => (one?.action === 'cancel' ? [one.cancellation] : [])),
  };
}

function decideOnline(t: OpenTransaction, session: OnlineSession, isNewest: boolean): Decision {
  const held = session.held.get(t.id);
  if (t.activationEpoch < session.floor.epoch) return canceledBelowFloor(t, session);
  // A newer session has the transaction.
  if (t.sentEpoch > session.epoch) return undefined;
  if (!held && isLost(t, session)) return resend(t, session);
  // The log most likely has the result of a started transaction that the headset no longer holds; an offer would
  // repeat the operation. The hello ends a reset (rule B7), and shows other transactions as lost (ADR 0057).
  if (t.status === 'accepted' && isGone(t, session)) return undefined;
  const found = held && t.lostEpoch > 0 ? { found: true as const } : {};
  if (held === 'finished') {
    // The headset's report ends the transaction.
    return t.lostEpoch > 0 ? { action: 'keep', mark: { ...unchanged(t), ...found } } : undefined;
  }
  // The headset can have started only transactions that the cloud has accepted.
  const action = held === 'started' && t.status === 'accepted' ? 'start' : 'offer';
  if (isRunningReset(t)) return held && { action, mark: unchanged(t) };
  const mark = { ...countRetry(t, session), ...found };
  // A transaction that the session got after its hello may continue, even if a newer one was created since.
  const isLatest = isNewest || (!held && t.sentEpoch === session.epoch);
  const reason = reasonToCancel(t, mark, session, isLatest);
  if (!reason) return { action, mark };
  if (!mayHaveStarted(t, session) || (held === 'offered' && !mayRunHere(t, session)))
    return { action: 'cancel', cancellation: { id: t.id, message: reason, sentEpoch: t.sentEpoch } };
  // A client that does not know `revoke` is not asked: the result ends the transaction.
  if (!session.knowsRevoke) return { action, mark };
  return { action: held ? 'revoke' : 'offer', mark: { ...mark, wish: reason } };
}

function canceledBelowFloor(t: OpenTransaction, { floor }: Pick<OnlineSession, 'floor'>): Decision {
  return { action: 'cancel', cancellation: { id: t.id, message: floor.message } };
}

/** The mark of a judgement that counts no retry. */
function unchanged({ id, attempts }: OpenTransaction): Mark {
  return { id, attempts };
}

/**
 * Lost, and not sent since, or sent to this session, which may not have got it: until its `ready` has come
 * (rule B5).
 */
export function isLost(t: OpenTransaction, session: Pick<OnlineSession, 'epoch'>): boolean {
  const { status, lostEpoch, sentEpoch } = t;
  if (status !== 'accepted' || lostEpoch === 0 || lostEpoch > session.epoch) return false;
  return sentEpoch < lostEpoch || sentEpoch === session.epoch;
}

/**
 * Offers a lost transaction again, so that it ends. If the transaction must not continue, the offer asks the headset to
 * give it up. A client that cannot be asked does not have the transaction, so the transaction is canceled; an earlier
 * wish alone is no reason then.
 */
function resend(t: OpenTransaction, session: Omit<OnlineSession, 'held'>): Decision {
  const mark = countRetry(t, session);
  const asked = session.knowsRevoke ? t : { ...t, wish: '' };
  const reason = reasonToCancel(asked, mark, session, !session.superseded.has(t.id));
  if (reason && !session.knowsRevoke)
    return { action: 'cancel', cancellation: { id: t.id, message: reason, lostEpoch: t.lostEpoch } };
  return { action: 'offer', mark: { ...mark, ...(reason && !t.wish && { wish: reason }) } };
}

function inOrder(open: readonly OpenTransaction[]): OpenTransaction[] {
  return [...open].sort((a, b) => a.id - b.id);
}

/** Why it must not continue; undefined: it may continue. */
function reasonToCancel(
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
  const same = { ...unchanged(t), ...(further && { countedAdvance: advance }) };
  if (t.sentEpoch === 0 || t.sentEpoch >= session.epoch) return unchanged(t);
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

/** What is judged together: of these the latest continues (specification API 4). */
export function operationKey(t: Pick<OpenTransaction, 'operationId' | 'subject'>): string {
  return `${t.operationId} ${t.subject}`;
}
