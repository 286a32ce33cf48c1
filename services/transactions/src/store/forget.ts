import { forgetAtOnce } from '@headset-cloud/kit/forget/request.ts';
import type { Filter } from '@headset-cloud/kit/store/operations.ts';
import type { Store } from '@headset-cloud/kit/store/types.ts';
import type { ForgetStore } from '../ports.ts';
import { collections, type TransactionDocument } from './documents.ts';
import { settled } from './retention.ts';

/** Applications that one call looks through. */
const applicationsAtOnce = 200;
const judged = { open: 1, dueAt: 1, outbox: 1, 'progress.owed': 1 } as const;

/**
 * A device's transactions, found by the index of each application and device: application by application, since
 * an index by device alone would cost every create. The device's head stays: ids and epochs never fall (rule B4).
 */
export function createForgetStore(store: Store): ForgetStore {
  const transactions = store.collection<TransactionDocument>(collections.transactions);
  const limit = transactions.batchesAtOnce === undefined ? forgetAtOnce.overNetwork : forgetAtOnce.inProcess;

  async function applicationAfter(applicationId: string): Promise<string | undefined> {
    const next = await transactions.findOne(
      { applicationId: { $gt: applicationId } },
      { sort: { applicationId: 1, _id: 1 }, projection: { applicationId: 1 } },
    );
    return next?.applicationId;
  }

  return {
    async page(deviceId, after) {
      const page = { settled: [] as number[], open: [] as number[], owing: 0 };
      let { id, applicationId } = placeOf(after);
      for (let looked = 0; looked < applicationsAtOnce; looked += 1) {
        if (id === 0) {
          const next = await applicationAfter(applicationId);
          if (next === undefined) return { ...page, next: '' };
          applicationId = next;
        }
        const filter: Filter<TransactionDocument> = { applicationId, deviceId, _id: { $gt: id } };
        const found = await transactions
          .find(filter, { sort: { _id: 1 }, limit, projection: judged })
          .toArray();
        for (const { _id, open, dueAt, outbox, progress } of found) {
          if (open) page.open.push(_id);
          else if (dueAt !== undefined || outbox !== undefined || progress?.owed) page.owing += 1;
          else page.settled.push(_id);
        }
        id = found.length === limit ? (found.at(-1)?._id ?? 0) : 0;
        if (found.length > 0) break;
      }
      return { ...page, next: `${id} ${applicationId}` };
    },
    async remove(deviceId, ids) {
      const { deletedCount } = await transactions.deleteMany({
        _id: { $in: [...ids] },
        deviceId,
        ...settled,
      });
      return deletedCount;
    },
  };
}

/** `after`: the last id read of an application, 0 for all of it; then the application. */
function placeOf(after: string): { id: number; applicationId: string } {
  const cut = after.indexOf(' ');
  return cut < 0
    ? { id: 0, applicationId: '' }
    : { id: Number(after.slice(0, cut)), applicationId: after.slice(cut + 1) };
}
