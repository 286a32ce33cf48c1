import type { UpdateFilter } from 'mongodb';
import type { OwedCallback } from '../domain/callbacks.ts';
import type { Status } from '../domain/state.ts';
import type { StoredTransaction } from '../ports.ts';
import type { TransactionDocument } from './documents.ts';

/** What changes with a transaction's state. */
export interface Change {
  readonly now: number;
  /** Callbacks that the change causes; they enter the outbox in the same write. */
  readonly owed: readonly OwedCallback[];
  readonly set?: Partial<TransactionDocument>;
}

/** Updates of one transaction's document, as MongoDB takes them. */
export function createChanges(leftoverAfterMs: number) {
  const leftover = (now: number) => new Date(now + leftoverAfterMs);
  const to = (status: Status, change: Change): UpdateFilter<TransactionDocument> => ({
    $set: { status, updatedAt: new Date(change.now), ...change.set },
    // A time that stands is kept: the sweeper may look too early, never too late, and the index rests.
    $min: { dueAt: leftover(change.now) },
    $push: { outbox: { $each: [...change.owed] } },
    $inc: { outboxSeq: 1 },
    ...(status === 'accepted' ? {} : { $unset: { open: true } }),
  });
  return {
    /** When the sweeper takes what is stored or changed now for left over. */
    leftover,
    to,
    canceled: (message: string, stamp: string, now: number): UpdateFilter<TransactionDocument> =>
      to('canceled', {
        now,
        owed: [{ kind: 'canceled', atMs: now, success: false, message }],
        set: { end: { success: false, message, at: new Date(now) }, cancelStamp: stamp },
      }),
  };
}

/** What a document owes, in order: progress comes after the start and before the end. */
function owedBy({ outbox = [], progress }: TransactionDocument): readonly OwedCallback[] {
  if (!progress?.owed) return outbox;
  const { atMs, message, reportId, value, count } = progress;
  const step: OwedCallback = {
    kind: 'progress',
    atMs,
    success: true,
    message,
    step: { reportId, number: count, value },
  };
  const started = outbox.filter((o) => o.kind === 'accepted');
  return [...started, step, ...outbox.slice(started.length)];
}

/** A document as the domain sees it. */
export function toStored(d: TransactionDocument): StoredTransaction {
  return {
    id: d._id,
    deviceId: d.deviceId,
    applicationId: d.applicationId,
    operationId: d.operationId,
    subject: d.subject,
    status: d.status,
    activationEpoch: d.activationEpoch,
    operation: d.operation.buffer,
    createdAtMs: d.createdAt.getTime(),
    updatedAtMs: d.updatedAt.getTime(),
    attempts: d.attempts,
    sentEpoch: d.sentEpoch,
    outbox: owedBy(d),
    outboxSeq: d.outboxSeq,
    progress: d.progress?.value ?? 0,
    progressReports: d.progress?.count ?? 0,
    minimum: { client: d.minimumClientVersion ?? '', firmware: d.minimumFirmwareVersion ?? '' },
    endMessage: d.end?.message ?? '',
    traceparent: d.traceparent ?? '',
  };
}
