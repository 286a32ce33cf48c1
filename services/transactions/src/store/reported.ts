import { coalescedChange } from '@headset-cloud/store/coalesced.ts';
import type { StoreCollection } from '@headset-cloud/store/types.ts';
import { answeredOperations } from '../domain/forms/operations.ts';
import type { Reporter, Transitions } from '../ports/transitions.ts';
import { type Apply, type Condition, directly, toStored } from './changes.ts';
import type { TransactionDocument } from './documents.ts';

type ReportedStore = Pick<Transitions, 'finish' | 'finishReset' | 'revoked' | 'answer'>;

/** The condition under which a report may change a transaction. */
export type Reportable = (
  id: number,
  reporter: Reporter,
  update: (filter: Condition) => Promise<TransactionDocument | null>,
) => Promise<TransactionDocument | null>;

/**
 * A report may change only transactions of the activation in which the reported event happened (rule A7):
 * those that are not older than the newest deactivation that the headset had taken. Most were created under the
 * report's own activation epoch, and then the device's deactivations are not read.
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

/** Writes headsets' reports about the ends of transactions into the transactions' documents. */
export function createReportedStore(
  reported: StoreCollection<TransactionDocument>,
  deps: { apply: Apply; reportable: Reportable },
): ReportedStore {
  const { apply, reportable } = deps;
  const alone = directly(reported);
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
        alone,
        { _id: id, sentEpoch: { $lt: epoch } },
        { type: 'reset-done', end },
        now,
      );
      return document && toStored(document);
    },

    async revoked(id, reporter, atMs, now) {
      const asked = await reported.findOne({ _id: id, deviceId: reporter.deviceId, open: true });
      if (!asked) return null;
      const message = asked.wish?.message;
      const document = await reportable(id, reporter, (filter) => {
        if (message === undefined) {
          // The headset was not asked to give it up: the operation has failed, and its callback says so.
          const end = { success: false, message: 'The device did not carry out the operation.', atMs };
          return apply(alone, { ...filter, wish: { $exists: false } }, { type: 'result', end }, now);
        }
        return apply(alone, filter, { type: 'revoked', message }, now);
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
        return apply(alone, unanswered, { type: 'answer', answer }, now, { answeredAt: new Date(now) });
      });
      return answered && toStored(answered);
    },
  };
}
