import type { Filter } from '@headset-cloud/store/operations.ts';
import type { StoreCollection } from '@headset-cloud/store/types.ts';
import { maxProgressReports } from '../domain/callbacks.ts';
import { operationsWithProgress } from '../domain/forms/operations.ts';
import { statesBefore } from '../domain/state.ts';
import type { ReportedProgress, Transitions } from '../ports/transitions.ts';
import { type createChanges, toStored } from './changes.ts';
import type { TransactionDocument } from './documents.ts';
import type { Reportable } from './reported.ts';

type ProgressStore = Pick<Transitions, 'progress' | 'publishDeferredProgress'>;

/** Fraction of the interval after which a report is no longer too soon: a headset's timer may be early. */
const tooSoonShare = 0.9;

/**
 * Stores the newest progress report of each update. Callbacks are an interval apart (rule A9): a report that arrives
 * too soon is deferred, and the sweeper makes its callback pending when the interval is over.
 */
export function createProgressStore(
  transactions: StoreCollection<TransactionDocument>,
  options: { changes: ReturnType<typeof createChanges>; reportable: Reportable; intervalMs: number },
): ProgressStore {
  const { changes, reportable, intervalMs } = options;
  const newerThan = (reportId: number): Filter<TransactionDocument> => ({
    $or: [
      { 'progress.reportId': { $exists: false } },
      { 'progress.reportId': { $lt: reportId }, 'progress.count': { $lt: maxProgressReports } },
    ],
    // Negated, so that the condition also holds when nothing is deferred.
    'progress.deferred.reportId': { $not: { $gte: reportId } },
  });
  const running: Filter<TransactionDocument> = {
    status: { $in: statesBefore('progress', 'accepted') },
    operationId: { $in: [...operationsWithProgress] },
  };
  const fields = ({ reportId, value, message, atMs }: ReportedProgress) => ({
    'progress.reportId': reportId,
    'progress.value': value,
    'progress.message': message,
    'progress.atMs': atMs,
  });
  const highest = ({ value, atMs }: ReportedProgress) => ({
    'progress.best': value,
    'progress.latestAtMs': atMs,
  });
  const storeReport = async (
    filter: Filter<TransactionDocument>,
    progress: ReportedProgress,
    now: number,
  ): Promise<TransactionDocument | null> => {
    const inTime: Filter<TransactionDocument> = {
      $or: [
        { 'progress.owedAtMs': { $exists: false } },
        { 'progress.owedAtMs': { $lte: now - intervalMs * tooSoonShare } },
        // A clock that was ahead has written the time of the last callback.
        { 'progress.owedAtMs': { $gt: now + intervalMs } },
      ],
    };
    const pending = await transactions.findOneAndUpdate(
      { ...filter, $and: [newerThan(progress.reportId), inTime] },
      {
        $set: {
          updatedAt: new Date(now),
          ...fields(progress),
          'progress.owed': true,
          'progress.owedAtMs': now,
        },
        $max: highest(progress),
        $min: { dueAt: changes.dueAt(now) },
        $inc: { 'progress.count': 1, outboxSeq: 1 },
        $unset: { 'progress.deferred': true },
      },
      { returnDocument: 'after' },
    );
    if (pending) return pending;
    // The report is too soon, or not newer. If it is too soon, it is deferred; a pending callback keeps its content.
    return await transactions.findOneAndUpdate(
      { ...filter, $and: [{ progress: { $exists: true } }, newerThan(progress.reportId)] },
      {
        $set: { updatedAt: new Date(now), 'progress.deferred': { ...progress } },
        $max: highest(progress),
        $min: { dueAt: new Date(now + intervalMs) },
        $inc: { outboxSeq: 1 },
      },
      { returnDocument: 'after' },
    );
  };

  return {
    async progress(id, reporter, progress, now) {
      const document = await reportable(id, reporter, (filter) =>
        storeReport({ ...filter, ...running }, progress, now),
      );
      return document && toStored(document);
    },

    async publishDeferredProgress(id, now) {
      const waiting = await transactions.findOne({ _id: id, open: true });
      const deferred = waiting?.progress?.deferred;
      if (!deferred) return null;
      const document = await transactions.findOneAndUpdate(
        {
          _id: id,
          status: { $in: statesBefore('progress', 'accepted') },
          'progress.deferred.reportId': deferred.reportId,
        },
        {
          $set: {
            updatedAt: new Date(now),
            ...fields(deferred),
            'progress.owed': true,
            'progress.owedAtMs': now,
          },
          $min: { dueAt: changes.dueAt(now) },
          $inc: { 'progress.count': 1, outboxSeq: 1 },
          $unset: { 'progress.deferred': true },
        },
        { returnDocument: 'after' },
      );
      return document && toStored(document);
    },
  };
}
