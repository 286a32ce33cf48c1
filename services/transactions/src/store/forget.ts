import { formatPagePosition, parsePagePosition } from '@headset-cloud/rules/forget/page-position.ts';
import { forgetAtOnce } from '@headset-cloud/rules/forget/request.ts';
import type { Filter } from '@headset-cloud/store/operations.ts';
import type { Store } from '@headset-cloud/store/types.ts';
import type { ForgetStore } from '../ports/forget-store.ts';
import { collections, type TransactionDocument } from './documents.ts';
import { settled } from './retention.ts';

/** Maximum number of applications per call. */
const applicationsAtOnce = 200;
/** Fields that decide whether a transaction may be deleted. */
const classifiedFields = { open: 1, dueAt: 1, outbox: 1, 'progress.owed': 1 } as const;

/**
 * Finds and deletes transactions of a device or an application. The transactions of a device are read application by
 * application with the index `by_application_device`, because a further index would cost a write at every create. The
 * device counters stay, because ids and epochs must never fall (rule B4).
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

  /** Reads and classifies a page. `last` is its last id if the page is full, otherwise 0. */
  async function classify(filter: Filter<TransactionDocument>) {
    const page = { settled: [] as number[], open: [] as number[], pending: 0 };
    const found = await transactions
      .find(filter, { sort: { _id: 1 }, limit, projection: classifiedFields })
      .toArray();
    for (const { _id, open, dueAt, outbox, progress } of found) {
      if (open) page.open.push(_id);
      else if (dueAt !== undefined || outbox !== undefined || progress?.owed) page.pending += 1;
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
      let { number: id, name: applicationId } = parsePagePosition(after);
      for (let looked = 0; looked < applicationsAtOnce; looked += 1) {
        if (id === 0) {
          const next = await applicationAfter(applicationId);
          if (next === undefined) return { ...emptyPage, next: '' };
          applicationId = next;
        }
        const { page, isEmpty, last } = await classify({ applicationId, deviceId, _id: { $gt: id } });
        id = last;
        if (!isEmpty) return { ...page, next: formatPagePosition({ number: id, name: applicationId }) };
      }
      return { ...emptyPage, next: formatPagePosition({ number: id, name: applicationId }) };
    },
    remove: (deviceId, ids) => remove({ deviceId }, ids),
    async pageOfApplication(applicationId, after) {
      const { page, last } = await classify({ applicationId, _id: { $gt: after } });
      return { ...page, next: last };
    },
    removeOfApplication: (applicationId, ids) => remove({ applicationId }, ids),
  };
}

const emptyPage = { settled: [], open: [], pending: 0 };
