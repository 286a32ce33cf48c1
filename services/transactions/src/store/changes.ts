import type { ConditionalChange } from '@headset-cloud/store/coalesced.ts';
import type { Update } from '@headset-cloud/store/operations.ts';
import type { StoreCollection } from '@headset-cloud/store/types.ts';
import type { Binary } from 'mongodb';
import type { CallbackKind, OwedCallback } from '../domain/owed.ts';
import { type Change, changesOf, type TransactionEvent } from '../domain/state.ts';
import type { StoredTransaction } from '../ports/stored-transaction.ts';
import type { CanceledTransaction } from '../ports/transitions.ts';
import type { TransactionDocument } from './documents.ts';

/** Updates of one transaction's document, in MongoDB's form. */
export function createChanges(leftoverAfterMs: number) {
  const leftover = (now: number) => new Date(now + leftoverAfterMs);
  /** A change of the state table, with what else is written with it. */
  const write = (
    { to, owed, end, acceptedAtMs, stays }: Change,
    now: number,
    set: Partial<TransactionDocument> = {},
  ): Update<TransactionDocument> => {
    const state: Partial<TransactionDocument> = {
      ...(!stays && { status: to, updatedAt: new Date(now) }),
      ...(end && { end: { success: end.success, message: end.message, at: new Date(now), atMs: end.atMs } }),
      ...(acceptedAtMs !== undefined && { acceptedAtMs }),
    };
    return {
      $set: { ...state, ...set },
      // An earlier due time stays: the sweeper may look too early but never too late, and the index does
      // not change.
      $min: { dueAt: leftover(now) },
      $push: { outbox: { $each: takenIn(owed, now) } },
      $inc: { outboxSeq: 1 },
      ...(end && {
        // Removes fields that are no longer read, which keeps this write and later ones small.
        $unset: { open: true, wish: true, ...(to === 'canceled' && { operation: true }) },
      }),
    };
  };
  return {
    /** When the sweeper treats a document that is stored or changed now as left over. */
    leftover,
    write,
  };
}

/** Makes a conditional change. Returns the document after it, or null or undefined if the condition did not hold. */
export type Changer = (
  change: ConditionalChange<TransactionDocument>,
) => Promise<TransactionDocument | null | undefined>;

/** A transaction of this id, on a condition. */
export type Condition = ConditionalChange<TransactionDocument>['filter'];

/** Applies an event's change in the first state that accepts the event. The same write stores the callbacks. */
export type Apply = (
  make: Changer,
  filter: Condition,
  event: TransactionEvent,
  now: number,
  set?: Partial<TransactionDocument>,
) => Promise<TransactionDocument | null>;

export function createApply(changes: ReturnType<typeof createChanges>): Apply {
  return async (make, filter, event, now, set) => {
    for (const change of changesOf(event, now)) {
      const changed = await make({
        filter: { ...filter, status: { $in: [...change.from] } },
        update: changes.write(change, now, set),
      });
      if (changed) return changed;
    }
    return null;
  };
}

/** Makes each change by itself. */
export function directly(collection: StoreCollection<TransactionDocument>): Changer {
  return ({ filter, update }) => collection.findOneAndUpdate(filter, update, { returnDocument: 'after' });
}

/** Callbacks in the form in which the outbox stores them. */
export function takenIn(owed: readonly OwedCallback[], now: number): OwedCallback[] {
  return owed.map((one) => ({ ...one, takenInAtMs: now }));
}

/** The callbacks that a document owes, in order: progress comes after the start and before the end. */
function owedBy(d: TransactionDocument): readonly OwedCallback[] {
  const { outbox = [], progress } = d;
  const dated = outbox.map((owed) => notBefore(earliest(d, owed.kind), owed));
  if (!progress?.owed) return dated;
  const { latestAtMs, message, reportId, value, count } = progress;
  const step: OwedCallback = {
    kind: 'progress',
    atMs: Math.max(latestAtMs, d.acceptedAtMs ?? 0),
    takenInAtMs: progress.owedAtMs,
    success: true,
    message,
    step: { reportId, number: count, value },
  };
  const started = dated.filter((o) => o.kind === 'accepted');
  return [...started, step, ...dated.slice(started.length)];
}

/** Times within one transaction never go back, whatever the headset's clock says (rule A20). */
function earliest({ acceptedAtMs = 0, progress, end }: TransactionDocument, kind: CallbackKind): number {
  if (kind === 'accepted') return 0;
  const ended = kind === 'answer' ? (end?.atMs ?? 0) : 0;
  return Math.max(acceptedAtMs, progress?.latestAtMs ?? 0, ended);
}

function notBefore(atMs: number, owed: OwedCallback): OwedCallback {
  return owed.atMs < atMs ? { ...owed, atMs } : owed;
}

/** A document as the domain sees it. */
export function toStored(d: TransactionDocument): StoredTransaction {
  // A canceled transaction has no operation, and nobody reads it; every other one has it.
  const operation = d.status === 'canceled' ? new Uint8Array() : (d.operation as Binary).buffer;
  return { ...toCanceled(d), operation };
}

/** What `toCanceled` leaves out. */
export const canceledFields = { operation: 0 } as const;

/** The same without its operation. */
export function toCanceled(d: TransactionDocument): CanceledTransaction {
  return {
    id: d._id,
    deviceId: d.deviceId,
    applicationId: d.applicationId,
    operationId: d.operationId,
    subject: d.subject,
    status: d.status,
    activationEpoch: d.activationEpoch,
    createdAtMs: d.createdAt.getTime(),
    updatedAtMs: d.updatedAt.getTime(),
    attempts: d.attempts,
    sentEpoch: d.sentEpoch,
    countedAtMs: d.counted?.at?.getTime() ?? 0,
    countedAdvance: d.counted?.advance ?? 0,
    bestProgress: d.progress?.best ?? 0,
    wish: d.wish?.message ?? '',
    lostEpoch: d.lostEpoch ?? 0,
    wishedAtMs: d.wish?.at.getTime() ?? 0,
    // The end carries the last value, so after it no report waits.
    progressDeferredSinceMs: d.open && d.progress?.deferred ? (d.progress.owedAtMs ?? 0) : undefined,
    outbox: owedBy(d),
    outboxSeq: d.outboxSeq,
    progress: d.progress?.deferred?.value ?? d.progress?.value ?? 0,
    progressReports: d.progress?.count ?? 0,
    minimum: { client: d.minimumClientVersion ?? '', firmware: d.minimumFirmwareVersion ?? '' },
    endMessage: d.end?.message ?? '',
    traceparent: d.traceparent ?? '',
  };
}
