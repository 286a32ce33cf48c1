import type { StoreCollection } from '@headset-cloud/store/types.ts';
import { statesBefore } from '../domain/state.ts';
import type { Transitions } from '../ports/transitions.ts';
import type { TransactionDocument } from './documents.ts';

type SessionMarks = Pick<Transitions, 'markPublished' | 'markReconciled' | 'markLost' | 'markFound'>;

/**
 * Writes which session has a transaction, and whether it is lost. `reported` is the same collection with the option
 * `settle: 'in-order'`, for writes that the consumer of the log makes.
 */
export function createSessionMarks(
  transactions: StoreCollection<TransactionDocument>,
  reported: StoreCollection<TransactionDocument>,
): SessionMarks {
  return {
    async markPublished(marks, now) {
      // All transactions of offline headsets have the session epoch 0, so one update can mark many.
      const byEpoch = Map.groupBy(marks, (m) => m.sentEpoch);
      await transactions.bulkWrite(
        [...byEpoch].map(([sentEpoch, dispatched]) => ({
          updateMany: {
            filter: {
              _id: { $in: dispatched.map((m) => m.id) },
              status: { $in: statesBefore('published', 'published') },
            },
            update: {
              $set: { status: 'published' as const, updatedAt: new Date(now) },
              // $max, because a newer session may have been reconciled since.
              $max: { sentEpoch },
              $unset: { dueAt: true as const },
            },
          },
        })),
        { ordered: false },
      );
    },
    async markReconciled(marks, sessionEpoch, now) {
      if (marks.length === 0) return;
      // Separate updates by state: a created transaction becomes published, an accepted one stays accepted.
      await transactions.bulkWrite(
        marks.flatMap((m) => {
          const update = {
            $set: {
              attempts: m.attempts,
              ...(m.countedAtMs !== undefined && { 'counted.at': new Date(m.countedAtMs) }),
              ...(m.countedAdvance !== undefined && { 'counted.advance': m.countedAdvance }),
              ...(m.cancelRequested !== undefined && {
                wish: { message: m.cancelRequested, at: new Date(now) },
              }),
            },
            $max: { sentEpoch: sessionEpoch },
          };
          // A newer session has decided with newer values, so a late reconciliation of an older session writes nothing.
          const open = { _id: m.id, open: true as const, sentEpoch: { $lte: sessionEpoch } };
          // The headset holds the lost transaction again. One update writes the decision and removes the lost mark,
          // because the process may die between two updates. The lost mark of a newer session stays.
          const updateFound = {
            filter: { ...open, lostEpoch: { $lte: sessionEpoch } },
            update: { ...update, $unset: { lostEpoch: true as const } },
          };
          return [
            {
              updateOne: {
                filter: { _id: m.id, status: 'created' as const },
                update: {
                  $set: { status: 'published' as const, updatedAt: new Date(now) },
                  $unset: { dueAt: true as const },
                },
              },
            },
            ...(m.found ? [{ updateOne: updateFound }] : []),
            { updateOne: { filter: open, update } },
          ];
        }),
        { ordered: true },
      );
    },
    async markLost(lost, epoch) {
      await reported.updateMany(
        { _id: { $in: [...lost] }, status: 'accepted', sentEpoch: { $lt: epoch } },
        { $max: { lostEpoch: epoch } },
      );
    },
    async markFound(id, { deviceId, epoch }, lostEpoch) {
      const sameMark = lostEpoch > 0 ? lostEpoch : { $exists: false };
      const { matchedCount } = await transactions.updateOne(
        { _id: id, deviceId, status: 'accepted', sentEpoch: { $lte: epoch }, lostEpoch: sameMark },
        { $set: { sentEpoch: epoch }, $unset: { lostEpoch: true } },
      );
      return matchedCount > 0;
    },
  };
}
