import { coalescedChange } from '@headset-cloud/store/coalesced.ts';
import type { StoreCollection } from '@headset-cloud/store/types.ts';
import { answeredOperations } from '../domain/forms/operations.ts';
import type { Reporter, Transitions } from '../ports/transitions.ts';
import { type Apply, type Condition, oneByOne, toStored } from './changes.ts';
import type { TransactionDocument } from './documents.ts';

type ReportedStore = Pick<Transitions, 'finish' | 'finishReset' | 'revoked' | 'answer'>;

/** The condition under which a report may change a transaction. */
export type Reportable = (
  id: number,
  reporter: Reporter,
  update: (filter: Condition) => Promise<TransactionDocument | null>,
) => Promise<TransactionDocument | null>;

/**
 * Restricts a report to transactions of the activation in which the reported event happened (rule A7): transactions
 * whose activation epoch is not below the newest deactivation up to the report's activation epoch. Most transactions
 * are not below the report's activation epoch itself; for them the device's deactivations are not read.
 */
export function createReportable(counters: {
  lastDeactivationUpTo(deviceId: string, epoch: number): Promise<number>;
}): Reportable {
  return async (id, { deviceId, epoch }, update) => {
    const found = await update({ _id: id, deviceId, activationEpoch: { $gte: epoch } });
    if (found || epoch === 0) return found;
    const since = await counters.lastDeactivationUpTo(deviceId, epoch);
    return since < epoch ? update({ _id: id, deviceId, activationEpoch: { $gte: since } }) : null;
  };
}

/** Writes the ends and answers that headsets report into the transactions' documents. */
export function createReportedStore(
  reported: StoreCollection<TransactionDocument>,
  deps: { apply: Apply; reportable: Reportable },
): ReportedStore {
  const { apply, reportable } = deps;
  const single = oneByOne(reported);
  const finish = coalescedChange(reported, 'resultStamp');
  return {
    async finish(id, reporter, end, now) {
      const document = await reportable(id, reporter, (filter) =>
        apply(finish, filter, { type: 'result', end }, now),
      );
      return document && toStored(document);
    },

    async finishReset(id, epoch, end, now) {
      const document = await apply(
        single,
        { _id: id, sentEpoch: { $lt: epoch } },
        { type: 'reset-done', end },
        now,
      );
      return document && toStored(document);
    },

    async revoked(id, reporter, atMs, now) {
      const found = await reported.findOne({ _id: id, deviceId: reporter.deviceId, open: true });
      if (!found) return null;
      const message = found.wish?.message;
      const document = await reportable(id, reporter, (filter) => {
        if (message === undefined) {
          // No cancellation was requested: the operation has failed.
          const end = { success: false, message: 'The device did not carry out the operation.', atMs };
          return apply(single, { ...filter, wish: { $exists: false } }, { type: 'result', end }, now);
        }
        return apply(single, filter, { type: 'revoked', message }, now);
      });
      return document && toStored(document);
    },

    async answer(id, reporter, answer, now) {
      const answered = await reportable(id, reporter, (filter) => {
        const unanswered: Condition = {
          ...filter,
          operationId: { $in: [...answeredOperations] },
          answeredAt: { $exists: false },
        };
        return apply(single, unanswered, { type: 'answer', answer }, now, { answeredAt: new Date(now) });
      });
      return answered && toStored(answered);
    },
  };
}
