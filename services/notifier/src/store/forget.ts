import { beginningWith } from '@headset-cloud/kit/forget/ids.ts';
import { forgetAtOnce } from '@headset-cloud/kit/forget/request.ts';
import type { Filter } from '@headset-cloud/kit/store/operations.ts';
import type { Store } from '@headset-cloud/kit/store/types.ts';
import { deliveryStatuses, destinationSettings, laneOf } from '../domain/delivery.ts';
import type { ForgetStore } from '../ports.ts';
import type { DeliveryDocument } from './documents.ts';
import { type FeedDocument, type FeedPageDocument, takenOff } from './feed.ts';
import {
  deliveriesCollection,
  feedPagesCollection,
  feedsCollection,
  outagesCollection,
  probesCollection,
  recoveriesCollection,
  recoveringCollection,
} from './indexes.ts';
import type { OutageDocument } from './notices.ts';
import type { ProbesDocument } from './probes.ts';
import type { RecoveringDocument, RecoveryDocument } from './recoveries.ts';

/** Without an audit record that is not published. */
const owingNothing: Filter<DeliveryDocument> = { auditAtMs: { $exists: false } };
/** Not being sent either. */
const ended: Filter<DeliveryDocument> = { status: { $ne: 'pending' }, ...owingNothing };

/** The removal of one that has got no place, and was not sent again, since it was found. */
function unchanged({ _id, unplaced, resends, resendPage }: DeliveryDocument) {
  const filter: Filter<DeliveryDocument> = {
    ...{ _id, ...ended },
    unplaced: unplaced ? true : { $exists: false },
    resends: resends ?? { $exists: false },
    resendPage: resendPage ?? { $exists: false },
  };
  return { deleteOne: { filter } };
}

/**
 * A device's deliveries by what their ids begin with: the index of `_id` finds them, in documents of every release.
 * An application's by their lanes' index.
 */
export function createForgetStore(store: Store): ForgetStore {
  const deliveries = store.collection<DeliveryDocument>(deliveriesCollection);
  const probesOf = store.collection<ProbesDocument>(probesCollection);
  const feeds = store.collection<FeedDocument>(feedsCollection);
  const pages = store.collection<FeedPageDocument>(feedPagesCollection);
  const recoveries = store.collection<RecoveryDocument>(recoveriesCollection);
  const recovering = store.collection<RecoveringDocument>(recoveringCollection);
  const outages = store.collection<OutageDocument>(outagesCollection);
  const limit = deliveries.batchesAtOnce === undefined ? forgetAtOnce.overNetwork : forgetAtOnce.inProcess;

  /** One filter for each status and setting, since the index has both. */
  function ofLanes(applicationId: string): Filter<DeliveryDocument>[] {
    return deliveryStatuses.flatMap((status) =>
      destinationSettings.map((setting) => ({ status, lane: laneOf(applicationId, setting) })),
    );
  }

  async function count(filters: readonly Filter<DeliveryDocument>[]): Promise<number> {
    const counts = await Promise.all(filters.map((filter) => deliveries.countDocuments(filter)));
    return counts.reduce((sum, one) => sum + one, 0);
  }

  async function forget(of: Filter<DeliveryDocument>, dryRun: boolean) {
    const removed = dryRun
      ? await deliveries.countDocuments({ ...of, ...ended })
      : (await deliveries.deleteMany({ ...of, ...ended })).deletedCount;
    const all = await deliveries.countDocuments(of);
    return { removed, left: dryRun ? all - removed : all };
  }

  /** These ids name the device. Their places stay, so that cursors mean the same. */
  async function takeOffPages(
    found: readonly Pick<DeliveryDocument, '_id' | 'applicationId' | 'page' | 'resendPage'>[],
  ) {
    // A page whose marks are not all set is behind the head.
    const heads = await feeds
      .find(
        { _id: { $in: [...new Set(found.map((one) => one.applicationId))] } },
        { projection: { last: 1 } },
      )
      .toArray();
    const next = new Map(heads.map(({ _id, last }) => [_id, last + 1]));
    const changes = found.flatMap(({ _id, applicationId, page, resendPage }) =>
      [page, resendPage, next.get(applicationId)].flatMap((number) =>
        number === undefined ? [] : [takenOff(_id, applicationId, number)],
      ),
    );
    if (changes.length > 0) await pages.bulkWrite(changes);
  }

  return {
    ofTransaction: (transactionId, dryRun) => forget(beginningWith(`tx-${transactionId}-`), dryRun),
    one: (notificationId, dryRun) => forget({ _id: notificationId }, dryRun),
    async reported(deviceId, dryRun) {
      let [removed, left] = [0, 0];
      // Its callbacks, and notices that name it.
      const parts: Filter<DeliveryDocument>[] = [beginningWith(`device-${deviceId}-`), { names: deviceId }];
      for (const of of parts) {
        if (dryRun) {
          const counted = await forget(of, true);
          removed += counted.removed;
          left += counted.left;
          continue;
        }
        const found = await deliveries
          .find(
            { ...of, ...ended },
            { limit, projection: { applicationId: 1, page: 1, resendPage: 1, unplaced: 1, resends: 1 } },
          )
          .toArray();
        // Before they go, so that a run that is cut off finds them again.
        await takeOffPages(found);
        // One that has got a further place since, or is to get one, is left for the next run.
        const { deletedCount: deleted } =
          found.length === 0 ? { deletedCount: 0 } : await deliveries.bulkWrite(found.map(unchanged));
        removed += deleted;
        if (found.length === limit || deleted < found.length) return { removed, left: 0, more: true };
        left += await deliveries.countDocuments(of);
      }
      return { removed, left, more: false };
    },
    async ofApplication(applicationId) {
      const ids: string[] = [];
      for (const filter of ofLanes(applicationId)) {
        const options = { limit: limit - ids.length, projection: { _id: 1 } } as const;
        const found = await deliveries.find({ ...filter, ...owingNothing }, options).toArray();
        ids.push(...found.map(({ _id }) => _id));
        if (ids.length === limit) break;
      }
      const { deletedCount } = await deliveries.deleteMany({ _id: { $in: ids }, ...owingNothing });
      if (ids.length === limit) return { removed: deletedCount, left: 0, probes: 0, more: true };
      await Promise.all([
        pages.deleteMany(beginningWith(`${applicationId} `)),
        feeds.deleteMany({ _id: applicationId }),
        outages.deleteMany(beginningWith(`${applicationId}/`)),
        recoveries.deleteMany({ applicationId, auditAtMs: { $exists: false } }),
        recovering.deleteMany({ _id: applicationId }),
      ]);
      const { deletedCount: probes } = await probesOf.deleteMany(beginningWith(`${applicationId} `));
      return { removed: deletedCount, left: await count(ofLanes(applicationId)), probes, more: false };
    },
    async countOfApplication(applicationId) {
      const filters = ofLanes(applicationId);
      const [all, pending] = await Promise.all([
        count(filters),
        count(filters.filter(({ status }) => status === 'pending')),
      ]);
      return { removed: all, left: 0, pending };
    },
  };
}
