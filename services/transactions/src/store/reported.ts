import type { StoreCollection } from '@headset-cloud/kit/store/types.ts';
import type { Filter } from 'mongodb';
import type { OwedCallback } from '../domain/callbacks.ts';
import { answeredOperations } from '../domain/forms/operations.ts';
import { callbacksOf, type EventType, type Status } from '../domain/state.ts';
import type { ReportedEnd, Reporter, Transitions } from '../ports.ts';
import { type Change, type createChanges, takenIn, toStored } from './changes.ts';
import type { TransactionDocument } from './documents.ts';

type ReportedStore = Pick<Transitions, 'finish' | 'revoked' | 'answer' | 'recordLate'>;

/** The condition under which a report may change a transaction. */
export type Reportable = (
  id: number,
  reporter: Reporter,
  update: (filter: Filter<TransactionDocument>) => Promise<TransactionDocument | null>,
) => Promise<TransactionDocument | null>;

/**
 * A report may change what was made under the activation in which it happened (rule A7): a
 * transaction that is not older than the newest deactivation which the headset knew of. Most were made
 * under the very epoch of the report, and need no look at the device's deactivations.
 */
export function createReportable(heads: {
  lastEndUpTo(deviceId: string, epoch: number): Promise<number>;
}): Reportable {
  return async (id, { deviceId, epoch }, update) => {
    const found = await update({ _id: id, deviceId, activationEpoch: { $gte: epoch } });
    if (found || epoch === 0) return found;
    const since = await heads.lastEndUpTo(deviceId, epoch);
    return since < epoch ? update({ _id: id, deviceId, activationEpoch: { $gte: since } }) : null;
  };
}

/** One conditional update by an event of the state table; owes its callbacks in the same write. */
export type Apply = (
  into: StoreCollection<TransactionDocument>,
  filter: Filter<TransactionDocument>,
  event: EventType,
  to: Status,
  change: Change,
) => Promise<TransactionDocument | null>;

/** A transaction's end, with the callback that tells it. */
export function ended(
  { success, message, atMs, connectivity }: ReportedEnd,
  now: number,
  set: Partial<TransactionDocument> = {},
): Change {
  return {
    now,
    owed: [{ kind: 'processed', atMs, success, message, ...(connectivity && { connectivity }) }],
    set: { ...set, end: { success, message, at: new Date(now), atMs } },
  };
}

/** What headsets report of the ends of transactions, in the transactions' documents. */
export function createReportedStore(
  reported: StoreCollection<TransactionDocument>,
  deps: { apply: Apply; changes: ReturnType<typeof createChanges>; reportable: Reportable },
): ReportedStore {
  const { apply, changes, reportable } = deps;
  return {
    async finish(id, reporter, end, now) {
      const document = await reportable(id, reporter, (filter) =>
        apply(reported, filter, 'result', 'processed', ended(end, now)),
      );
      return document && toStored(document);
    },

    async revoked(id, reporter, atMs, now) {
      const asked = await reported.findOne({ _id: id, deviceId: reporter.deviceId, open: true });
      if (!asked) return null;
      const message = asked.wish?.message;
      const document = await reportable(id, reporter, (filter) => {
        if (message === undefined) {
          // It was not asked to: the operation has failed, and its callback says so.
          const end = { success: false, message: 'The device did not carry out the operation.', atMs };
          const unasked = { ...filter, wish: { $exists: false } };
          return apply(reported, unasked, 'result', 'processed', ended(end, now));
        }
        return apply(reported, filter, 'revoked', 'canceled', {
          now,
          owed: [{ kind: 'canceled', atMs: now, success: false, message }],
          set: { end: { success: false, message, at: new Date(now), atMs: now } },
        });
      });
      return document && toStored(document);
    },

    async answer(id, reporter, answer, now) {
      const owed: OwedCallback = { kind: 'answer', ...answer };
      const { success, message, atMs } = answer;
      const answered = await reportable(id, reporter, async (filter) => {
        const unanswered: Filter<TransactionDocument> = {
          ...filter,
          operationId: { $in: [...answeredOperations] },
          answeredAt: { $exists: false },
        };
        const after = await reported.findOneAndUpdate(
          { ...unanswered, status: 'processed' },
          {
            $set: { answeredAt: new Date(now) },
            $min: { dueAt: changes.leftover(now) },
            $push: { outbox: { $each: takenIn([owed], now) } },
            $inc: { outboxSeq: 1 },
          },
          { returnDocument: 'after' },
        );
        if (after) return after;
        return await reported.findOneAndUpdate(
          { ...unanswered, open: true },
          changes.to('processed', {
            now,
            owed: callbacksOf('answer', 'accepted').map((kind) =>
              kind === 'answer' ? owed : { kind, atMs, success, message },
            ),
            set: { answeredAt: new Date(now), end: { success, message, at: new Date(now), atMs } },
          }),
          { returnDocument: 'after' },
        );
      });
      return answered && toStored(answered);
    },

    async recordLate(id, deviceId, end, now) {
      await reported.updateOne(
        {
          _id: id,
          deviceId,
          open: { $exists: false },
          lateResult: { $exists: false },
          'end.message': { $ne: end.message },
        },
        { $set: { lateResult: { success: end.success, message: end.message, at: new Date(now) } } },
      );
    },
  };
}
