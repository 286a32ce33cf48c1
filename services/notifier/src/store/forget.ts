import { withIdPrefix } from '@headset-cloud/rules/forget/ids.ts';
import { forgetAtOnce } from '@headset-cloud/rules/forget/request.ts';
import type { Filter } from '@headset-cloud/store/operations.ts';
import type { Store } from '@headset-cloud/store/types.ts';
import { deliveryStatuses, destinationSettings, laneOf } from '../domain/delivery.ts';
import type { ForgetStore } from '../ports/forget-store.ts';
import type { DeliveryDocument } from './documents.ts';
import { createFeedStore, type FeedDocument } from './feed.ts';
import {
  deliveriesCollection,
  feedsCollection,
  outagesCollection,
  probesCollection,
  recoveriesCollection,
  recoveringCollection,
} from './indexes.ts';
import type { OutageDocument } from './notices.ts';
import type { ProbesDocument } from './probes.ts';
import type { RecoveringDocument, RecoveryDocument } from './recoveries.ts';

/** Filter: no pending audit record. */
const noPendingRecord: Filter<DeliveryDocument> = { auditAtMs: { $exists: false } };
/** Filter: not pending and no pending audit record. */
const ended: Filter<DeliveryDocument> = { status: { $ne: 'pending' }, ...noPendingRecord };

/**
 * Finds a device's deliveries by the beginning of their ids, with the index of `_id`, in documents of every release.
 * Finds an application's deliveries with the index of lanes.
 */
export function createForgetStore(store: Store): ForgetStore {
  const deliveries = store.collection<DeliveryDocument>(deliveriesCollection);
  const probesOf = store.collection<ProbesDocument>(probesCollection);
  const feeds = store.collection<FeedDocument>(feedsCollection);
  const feed = createFeedStore(store);
  const recoveries = store.collection<RecoveryDocument>(recoveriesCollection);
  const recovering = store.collection<RecoveringDocument>(recoveringCollection);
  const outages = store.collection<OutageDocument>(outagesCollection);
  const limit = deliveries.batchesAtOnce === undefined ? forgetAtOnce.overNetwork : forgetAtOnce.inProcess;

  /** One filter for each status and setting, because the index has both. */
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

  return {
    ofTransaction: (transactionId, dryRun) => forget(withIdPrefix(`tx-${transactionId}-`), dryRun),
    one: (notificationId, dryRun) => forget({ _id: notificationId }, dryRun),
    async reported(deviceId, dryRun) {
      let [removed, left] = [0, 0];
      // Its callbacks, and notices that name it.
      const parts: Filter<DeliveryDocument>[] = [withIdPrefix(`device-${deviceId}-`), { names: deviceId }];
      for (const of of parts) {
        if (dryRun) {
          const counted = await forget(of, true);
          removed += counted.removed;
          left += counted.left;
          continue;
        }
        const found = await deliveries
          .find({ ...of, ...ended }, { limit, projection: { applicationId: 1 } })
          .toArray();
        const ids = { _id: { $in: found.map(({ _id }) => _id) } };
        removed += (await deliveries.deleteMany({ ...ids, ...ended })).deletedCount;
        // Completes the lists of own streams (feed/own-stream.ts), because their ids of deliveries contain the device.
        for (const applicationId of new Set(found.map((one) => one.applicationId))) {
          const { list } = await feed.ownStream(applicationId);
          if (list) await feed.assignPositions(applicationId, list);
        }
        if (found.length === limit) return { removed, left: 0, more: true };
        left += await deliveries.countDocuments(of);
      }
      return { removed, left, more: false };
    },
    async ofApplication(applicationId) {
      const ids: string[] = [];
      for (const filter of ofLanes(applicationId)) {
        const options = { limit: limit - ids.length, projection: { _id: 1 } } as const;
        const found = await deliveries.find({ ...filter, ...noPendingRecord }, options).toArray();
        ids.push(...found.map(({ _id }) => _id));
        if (ids.length === limit) break;
      }
      const { deletedCount } = await deliveries.deleteMany({ _id: { $in: ids }, ...noPendingRecord });
      if (ids.length === limit) return { removed: deletedCount, left: 0, probes: 0, more: true };
      await Promise.all([
        feeds.deleteMany({ _id: applicationId }),
        outages.deleteMany(withIdPrefix(`${applicationId}/`)),
        recoveries.deleteMany({ applicationId, auditAtMs: { $exists: false } }),
        recovering.deleteMany({ _id: applicationId }),
      ]);
      const { deletedCount: probes } = await probesOf.deleteMany(withIdPrefix(`${applicationId} `));
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
