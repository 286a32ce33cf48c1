import { placeOf, placeText } from '@headset-cloud/rules/forget/place.ts';
import { forgetAtOnce } from '@headset-cloud/rules/forget/request.ts';
import type { Filter } from '@headset-cloud/store/operations.ts';
import type { Store } from '@headset-cloud/store/types.ts';
import type { ForgetStore } from '../ports/forget-store.ts';
import { collections, type TransactionDocument } from './documents.ts';
import { settled } from './retention.ts';

/** Applications that one call looks through. */
const applicationsAtOnce = 200;
const judged = { open: 1, dueAt: 1, outbox: 1, 'progress.owed': 1 } as const;

/**
 * A device's transactions, found by the index of each application and device: application by application, since
 * an index by device alone would cost every create. The device's head stays: ids and epochs never fall (rule B4).
 * An application's are found by its own index.
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

  /** The next ones, and where the page after them begins; 0: there is none. */
  async function judge(filter: Filter<TransactionDocument>) {
    const page = { settled: [] as number[], open: [] as number[], owing: 0 };
    const found = await transactions.find(filter, { sort: { _id: 1 }, limit, projection: judged }).toArray();
    for (const { _id, open, dueAt, outbox, progress } of found) {
      if (open) page.open.push(_id);
      else if (dueAt !== undefined || outbox !== undefined || progress?.owed) page.owing += 1;
      else page.settled.push(_id);
    }
    return {
      page,
      isEmpty: found.length === 0,
      last: found.length === limit ? (found.at(-1)?._id ?? 0) : 0,
    };
  }

  async function remove(of: Filter<TransactionDocument>, ids: readonly number[]): Promise<number> {
    const { deletedCount } = await transactions.deleteMany({ ...of, _id: { $in: [...ids] }, ...settled });
    return deletedCount;
  }

  return {
    async page(deviceId, after) {
      let { number: id, name: applicationId } = placeOf(after);
      for (let looked = 0; looked < applicationsAtOnce; looked += 1) {
        if (id === 0) {
          const next = await applicationAfter(applicationId);
          if (next === undefined) return { ...nothing, next: '' };
          applicationId = next;
        }
        const { page, isEmpty, last } = await judge({ applicationId, deviceId, _id: { $gt: id } });
        id = last;
        if (!isEmpty) return { ...page, next: placeText({ number: id, name: applicationId }) };
      }
      return { ...nothing, next: placeText({ number: id, name: applicationId }) };
    },
    remove: (deviceId, ids) => remove({ deviceId }, ids),
    async pageOfApplication(applicationId, after) {
      const { page, last } = await judge({ applicationId, _id: { $gt: after } });
      return { ...page, next: last };
    },
    removeOfApplication: (applicationId, ids) => remove({ applicationId }, ids),
  };
}

const nothing = { settled: [], open: [], owing: 0 };
