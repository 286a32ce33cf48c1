import type { ConditionalChange } from '@headset-cloud/store/coalesced.ts';
import type { Update } from '@headset-cloud/store/operations.ts';
import type { StoreCollection } from '@headset-cloud/store/types.ts';
import type { Binary } from 'mongodb';
import type { CallbackKind, PendingCallback } from '../domain/pending-callbacks.ts';
import { type Change, changesOf, type TransactionEvent } from '../domain/state.ts';
import type { StoredTransaction } from '../ports/stored-transaction.ts';
import type { CanceledTransaction } from '../ports/transitions.ts';
import type { TransactionDocument } from './documents.ts';

/** Updates of one transaction's document, in MongoDB's form. */
export function createChanges(leftoverAfterMs: number) {
  const dueAt = (now: number) => new Date(now + leftoverAfterMs);
  /** Converts a change of the state machine, with additional fields in `set`. */
  const write = (
    { to, callbacks, end, acceptedAtMs, stays }: Change,
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
      // An earlier due time stays: the sweeper may be early but never late, and the index entry does not change.
      $min: { dueAt: dueAt(now) },
      $push: { outbox: { $each: withTime(callbacks, now) } },
      $inc: { outboxSeq: 1 },
      ...(end && {
        // These fields are no longer read. Their removal keeps this write and later ones small.
        $unset: { open: true, wish: true, ...(to === 'canceled' && { operation: true }) },
      }),
    };
  };
  return {
    /** Time from which the sweeper processes a document that is written at `now`. */
    dueAt,
    write,
  };
}

/** Makes a conditional change. Returns the document after it, or null or undefined if the condition did not hold. */
export type Changer = (
  change: ConditionalChange<TransactionDocument>,
) => Promise<TransactionDocument | null | undefined>;

/** Filter of a change: the transaction's id and further conditions. */
export type Condition = ConditionalChange<TransactionDocument>['filter'];

/** Applies the first change of an event whose condition holds. The same write stores the callbacks. */
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

/** Makes each change with its own write. */
export function oneByOne(collection: StoreCollection<TransactionDocument>): Changer {
  return ({ filter, update }) => collection.findOneAndUpdate(filter, update, { returnDocument: 'after' });
}

/** Adds the time of the write, as the outbox stores it. */
export function withTime(callbacks: readonly PendingCallback[], now: number): PendingCallback[] {
  return callbacks.map((callback) => ({ ...callback, takenInAtMs: now }));
}

/** Returns a document's pending callbacks in order: progress comes after the start and before the end. */
function pendingCallbacksOf(d: TransactionDocument): readonly PendingCallback[] {
  const { outbox = [], progress } = d;
  const dated = outbox.map((callback) => notBefore(earliest(d, callback.kind), callback));
  if (!progress?.owed) return dated;
  const { latestAtMs, message, reportId, value, count } = progress;
  const step: PendingCallback = {
    kind: 'progress',
    atMs: Math.max(latestAtMs, d.acceptedAtMs ?? 0),
    takenInAtMs: progress.owedAtMs,
    success: true,
    message,
    step: { reportId, number: count, value },
  };
  const started = dated.filter((c) => c.kind === 'accepted');
  return [...started, step, ...dated.slice(started.length)];
}

/** Lowest time of a callback: times within a transaction never go back, even if the headset's clock does (rule A20). */
function earliest({ acceptedAtMs = 0, progress, end }: TransactionDocument, kind: CallbackKind): number {
  if (kind === 'accepted') return 0;
  const ended = kind === 'answer' ? (end?.atMs ?? 0) : 0;
  return Math.max(acceptedAtMs, progress?.latestAtMs ?? 0, ended);
}

function notBefore(atMs: number, callback: PendingCallback): PendingCallback {
  return callback.atMs < atMs ? { ...callback, atMs } : callback;
}

/** Converts a document for the domain. */
export function toStored(d: TransactionDocument): StoredTransaction {
  // Only a canceled transaction has no operation. Its operation is never read.
  const operation = d.status === 'canceled' ? new Uint8Array() : (d.operation as Binary).buffer;
  return { ...toCanceled(d), operation };
}

/** Projection without the field that `toCanceled` does not read. */
export const canceledFields = { operation: 0 } as const;

/** Converts a document without its operation. */
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
    cancelRequested: d.wish?.message ?? '',
    lostEpoch: d.lostEpoch ?? 0,
    cancelRequestedAtMs: d.wish?.at.getTime() ?? 0,
    // After the end no report waits, because the end contains the last value.
    progressDeferredSinceMs: d.open && d.progress?.deferred ? (d.progress.owedAtMs ?? 0) : undefined,
    outbox: pendingCallbacksOf(d),
    outboxSeq: d.outboxSeq,
    progress: d.progress?.deferred?.value ?? d.progress?.value ?? 0,
    progressReports: d.progress?.count ?? 0,
    minimum: { client: d.minimumClientVersion ?? '', firmware: d.minimumFirmwareVersion ?? '' },
    endMessage: d.end?.message ?? '',
    traceparent: d.traceparent ?? '',
  };
}
