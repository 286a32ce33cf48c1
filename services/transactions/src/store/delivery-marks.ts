import type { StoreCollection } from '@headset-cloud/store/types.ts';
import { statesThatTake } from '../domain/state.ts';
import type { Transitions } from '../ports/transitions.ts';
import type { TransactionDocument } from './documents.ts';

type DeliveryMarks = Pick<Transitions, 'markPublished' | 'markJudged' | 'markLost' | 'found'>;

/**
 * Writes which session a transaction was sent to, and what a session's hello showed of it. Reports that show a
 * transaction as lost go to `reported`, whose writes may settle late.
 */
export function createDeliveryMarks(
  transactions: StoreCollection<TransactionDocument>,
  reported: StoreCollection<TransactionDocument>,
): DeliveryMarks {
  return {
    async markPublished(marks, now) {
      // Transactions of offline headsets all have the session epoch 0, so one update serves many.
      const byEpoch = Map.groupBy(marks, (m) => m.sentEpoch);
      await transactions.bulkWrite(
        [...byEpoch].map(([sentEpoch, handedOver]) => ({
          updateMany: {
            filter: {
              _id: { $in: handedOver.map((m) => m.id) },
              status: { $in: statesThatTake('published', 'published') },
            },
            update: {
              $set: { status: 'published' as const, updatedAt: new Date(now) },
              // $max, because a newer session may have been judged since.
              $max: { sentEpoch },
              $unset: { dueAt: true as const },
            },
          },
        })),
        { ordered: false },
      );
    },
    async markJudged(marks, sessionEpoch, now) {
      if (marks.length === 0) return;
      // Separate updates by state: a created one becomes published, an accepted one stays accepted.
      await transactions.bulkWrite(
        marks.flatMap((m) => {
          const update = {
            $set: {
              attempts: m.attempts,
              ...(m.countedAtMs !== undefined && { 'counted.at': new Date(m.countedAtMs) }),
              ...(m.countedAdvance !== undefined && { 'counted.advance': m.countedAdvance }),
              ...(m.wish !== undefined && { wish: { message: m.wish, at: new Date(now) } }),
            },
            $max: { sentEpoch: sessionEpoch },
          };
          const open = { _id: m.id, open: true as const };
          // It is held again: one update, because a process may die between two. Not if a newer session lost it since.
          const found = {
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
            ...(m.found ? [{ updateOne: found }] : []),
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
    async found(id, { deviceId, epoch }, lostEpoch) {
      const isLost = lostEpoch > 0 ? lostEpoch : { $exists: false };
      const { matchedCount } = await transactions.updateOne(
        { _id: id, deviceId, status: 'accepted', sentEpoch: { $lte: epoch }, lostEpoch: isLost },
        { $set: { sentEpoch: epoch }, $unset: { lostEpoch: true } },
      );
      return matchedCount > 0;
    },
  };
}
