import { resetOperation } from './forms/operations.ts';
import { cancelMessages, type Status } from './state.ts';

/** The fields of an unprocessed transaction that the reconciliation needs. */
export interface OpenTransaction {
  readonly id: number;
  readonly status: Status;
  readonly operationId: string;
  /**
   * "package@version" of an update, otherwise empty. The latest transaction is determined per operation and subject.
   */
  readonly subject: string;
  readonly activationEpoch: number;
  /** Counted retries. */
  readonly attempts: number;
  /** Epoch of the newest session that it was dispatched to or reconciled for; 0: none. */
  readonly sentEpoch: number;
  /**
   * Epoch of the newest session whose hello, consumed from the log, showed it as lost (ADR 0057); 0: not lost, or held
   * by the headset again.
   */
  readonly lostEpoch: number;
  /** Time of the last counted retry, milliseconds since 1970; 0: none. */
  readonly countedAtMs: number;
  /** Value of `advanceOf` at the last reconciliation. */
  readonly countedAdvance: number;
  /** Highest reported progress, 0.0 to 1.0. */
  readonly bestProgress: number;
  /** Message of the cancellation that the headset has to confirm (rule A11); empty: none is requested. */
  readonly cancelRequested: string;
}

/** The state in which a headset holds a transaction. */
export type HeldAs = 'offered' | 'started' | 'finished';
export type Held = ReadonlyMap<number, HeldAs>;

/** A session to reconcile, with the limits that apply. */
export interface OnlineSession {
  readonly epoch: number;
  readonly held: Held;
  /** The headset's client can answer `revoke`. */
  readonly knowsRevoke: boolean;
  /** The previous session was closed because the headset did not answer. */
  readonly afterUnresponsive: boolean;
  readonly minimumEpoch: { readonly epoch: number; readonly message: string };
  /** Ids of lost transactions with a later transaction of the same operation that ran or may run. */
  readonly superseded: ReadonlySet<number>;
  /** Maximum number of retries. */
  readonly retryLimit: number;
  /** Retries within this time count once; milliseconds. */
  readonly retryIntervalMs: number;
  readonly now: number;
}

/** Changes that a reconciliation writes to a transaction that is not canceled. */
export interface Mark {
  readonly id: number;
  readonly attempts: number;
  /** Set if a retry was counted. */
  readonly countedAtMs?: number;
  /** Set if it has advanced since the last reconciliation. */
  readonly countedAdvance?: number;
  /** Set if it is to be canceled, but the headset may have started it and must confirm first. */
  readonly cancelRequested?: string;
  /** Set when a transaction that was marked lost is held by the headset again. */
  readonly found?: true;
}

/** Outcome of a reconciliation, by action. */
export interface Reconciliation {
  /** Transactions to offer, in order of id. */
  readonly offer: readonly Mark[];
  /** Transactions that the headset holds as started: sent `start` again, without an offer. */
  readonly start: readonly Mark[];
  /** Transactions that the headset holds and may have started: sent `revoke`. */
  readonly revoke: readonly Mark[];
  /** Transactions that were marked lost and that the headset holds as finished: nothing is sent. */
  readonly keep: readonly Mark[];
  readonly cancel: readonly Cancellation[];
}

export interface Cancellation {
  readonly id: number;
  readonly message: string;
  /**
   * Cancel only if no session newer than this epoch has the transaction. Default: the epoch of the reconciled session.
   */
  readonly sentEpoch?: number;
  /** Cancel only while the transaction is marked as lost by the hello of this session. */
  readonly lostEpoch?: number;
}

/** Whether the transaction was dispatched to an earlier session and the headset no longer holds it. */
export function isMissing(
  t: Pick<OpenTransaction, 'id' | 'sentEpoch'>,
  session: { readonly epoch: number; readonly held: Held },
): boolean {
  return t.sentEpoch > 0 && t.sentEpoch < session.epoch && !session.held.has(t.id);
}

/**
 * Decides what happens to a device's unprocessed transactions when its session starts (specification API 4; rules A11,
 * B4, B6). The latest transaction of each operation continues. Transactions below the minimum activation epoch, older
 * transactions and transactions with too many retries are canceled. A transaction that the headset may have started is
 * revoked first, except below the minimum activation epoch.
 */
export function reconcileOnline(open: readonly OpenTransaction[], session: OnlineSession): Reconciliation {
  const ordered = inOrder(open);
  const latest = new Map<string, number>();
  for (const t of ordered) {
    if (t.activationEpoch >= session.minimumEpoch.epoch && !isRunningReset(t))
      latest.set(operationKey(t), t.id);
  }
  return reconciliationOf(ordered.map((t) => decideOnline(t, session, latest.get(operationKey(t)) === t.id)));
}

/**
 * Repeats the reconciliation later in a session (rule B5). Offers transactions that are not started and that no newer
 * session has, and lost transactions. Only the retries of lost transactions are counted (rule B6).
 */
export function reconcileAgain(
  open: readonly OpenTransaction[],
  session: Omit<OnlineSession, 'held'>,
): Reconciliation {
  return reconciliationOf(
    inOrder(open).map((t) => {
      if (t.activationEpoch < session.minimumEpoch.epoch) return canceledBelowMinimumEpoch(t, session);
      if (isLost(t, session)) return resend(t, session);
      return t.status !== 'accepted' && t.sentEpoch <= session.epoch
        ? { action: 'offer', mark: unchanged(t) }
        : undefined;
    }),
  );
}

/** Decision about one transaction; undefined: nothing is sent or written. */
type Decision =
  | { readonly action: 'offer' | 'start' | 'revoke' | 'keep'; readonly mark: Mark }
  | { readonly action: 'cancel'; readonly cancellation: Cancellation }
  | undefined;

/** Groups the decisions by action, in the order of the transactions. */
function reconciliationOf(decisions: readonly Decision[]): Reconciliation {
  const marks = (action: string) =>
    decisions.flatMap((d) => (d && d.action === action && 'mark' in d ? [d.mark] : []));
  return {
    offer: marks('offer'),
    start: marks('start'),
    revoke: marks('revoke'),
    keep: marks('keep'),
    cancel: decisions.flatMap((d) => (d?.action === 'cancel' ? [d.cancellation] : [])),
  };
}

function decideOnline(t: OpenTransaction, session: OnlineSession, isNewest: boolean): Decision {
  const held = session.held.get(t.id);
  if (t.activationEpoch < session.minimumEpoch.epoch) return canceledBelowMinimumEpoch(t, session);
  // A newer session has the transaction.
  if (t.sentEpoch > session.epoch) return undefined;
  if (!held && isLost(t, session)) return resend(t, session);
  // The log most likely contains the result of a started transaction that the headset no longer holds; an offer would
  // repeat the operation. When the hello is consumed from the log, it ends a reset (rule B7) and shows other
  // transactions as lost (ADR 0057).
  if (t.status === 'accepted' && isMissing(t, session)) return undefined;
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
  const isNotStarted = !mayHaveStarted(t, session) || (held === 'offered' && !mayRunHere(t, session));
  if (isNotStarted)
    return { action: 'cancel', cancellation: { id: t.id, message: reason, sentEpoch: t.sentEpoch } };
  // The client does not support `revoke`: the transaction continues and its result ends it.
  if (!session.knowsRevoke) return { action, mark };
  return { action: held ? 'revoke' : 'offer', mark: { ...mark, cancelRequested: reason } };
}

function canceledBelowMinimumEpoch(
  t: OpenTransaction,
  { minimumEpoch }: Pick<OnlineSession, 'minimumEpoch'>,
): Decision {
  return { action: 'cancel', cancellation: { id: t.id, message: minimumEpoch.message } };
}

/** Mark without a counted retry. */
function unchanged({ id, attempts }: OpenTransaction): Mark {
  return { id, attempts };
}

/**
 * Whether the transaction is marked as lost and must be offered again. True if it was not dispatched after it was
 * marked, or only to this session, which may not have received the offer. The session's `ready` removes the mark (rule
 * B5).
 */
export function isLost(t: OpenTransaction, session: Pick<OnlineSession, 'epoch'>): boolean {
  const { status, lostEpoch, sentEpoch } = t;
  if (status !== 'accepted' || lostEpoch === 0 || lostEpoch > session.epoch) return false;
  return sentEpoch < lostEpoch || sentEpoch === session.epoch;
}

/**
 * Offers a lost transaction again, so that it ends. A transaction that must not continue is offered, too, and the
 * headset's `ready` is answered with `revoke`. If the client does not support `revoke`, the transaction is canceled
 * instead, because the headset no longer holds it. In that case an earlier requested cancellation alone is no reason to
 * cancel.
 */
function resend(t: OpenTransaction, session: Omit<OnlineSession, 'held'>): Decision {
  const mark = countRetry(t, session);
  const considered = session.knowsRevoke ? t : { ...t, cancelRequested: '' };
  const reason = reasonToCancel(considered, mark, session, !session.superseded.has(t.id));
  if (reason && !session.knowsRevoke)
    return { action: 'cancel', cancellation: { id: t.id, message: reason, lostEpoch: t.lostEpoch } };
  return {
    action: 'offer',
    mark: { ...mark, ...(reason && !t.cancelRequested && { cancelRequested: reason }) },
  };
}

function inOrder(open: readonly OpenTransaction[]): OpenTransaction[] {
  return [...open].sort((a, b) => a.id - b.id);
}

/** Message of the cancellation; undefined: the transaction may continue. */
function reasonToCancel(
  t: OpenTransaction,
  mark: Mark,
  session: Pick<OnlineSession, 'retryLimit'>,
  isLatest: boolean,
): string | undefined {
  if (t.cancelRequested) return t.cancelRequested;
  if (!isLatest) return cancelMessages.newer;
  return mark.attempts > session.retryLimit ? cancelMessages.retryLimit : undefined;
}

/**
 * Counts a retry: a dispatch to this session after a dispatch to an earlier session (rule B6). Retries within the
 * interval count once, so that a flapping network does not use up the limit. A retry does not count if the
 * transaction has advanced further than ever before. After an unresponsive session a retry always counts.
 */
function countRetry(t: OpenTransaction, session: Omit<OnlineSession, 'held'>): Mark {
  const advance = advanceOf(t);
  const further = advance > t.countedAdvance;
  if (t.sentEpoch === 0 || t.sentEpoch >= session.epoch) return unchanged(t);
  const notCounted = { ...unchanged(t), ...(further && { countedAdvance: advance }) };
  // A time in the future was written by a clock that was ahead.
  const sinceMs = session.now - t.countedAtMs;
  const justCounted = t.countedAtMs > 0 && sinceMs >= 0 && sinceMs < session.retryIntervalMs;
  if (!session.afterUnresponsive && (further || justCounted)) return notCounted;
  return { ...notCounted, attempts: t.attempts + 1, countedAtMs: session.now };
}

/** Measure of a transaction's advance: 0 not accepted, 1 accepted, up to 2 with its progress. */
function advanceOf(t: Pick<OpenTransaction, 'status' | 'bestProgress'>): number {
  return t.status === 'accepted' ? 1 + t.bestProgress : 0;
}

/**
 * Whether the headset may have started the transaction: it was accepted, or it may have been accepted before the
 * database was restored from a backup. The restore requests the cancellation of all unprocessed transactions (ADR
 * 0035), which only a client that supports `revoke` can answer.
 */
function mayHaveStarted(t: OpenTransaction, session: OnlineSession): boolean {
  return t.status === 'accepted' || (t.cancelRequested !== '' && session.knowsRevoke);
}

/** Whether this session has the start grant: the `start` may arrive at the headset after it sent its hello. */
function mayRunHere(t: OpenTransaction, session: OnlineSession): boolean {
  return t.status === 'accepted' && t.sentEpoch === session.epoch;
}

function isRunningReset(t: OpenTransaction): boolean {
  return t.operationId === resetOperation && t.status === 'accepted';
}

/** Key of the transactions of which only the latest continues (specification API 4). */
export function operationKey(t: Pick<OpenTransaction, 'operationId' | 'subject'>): string {
  return `${t.operationId} ${t.subject}`;
}
