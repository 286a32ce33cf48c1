import { forgetAtOnce } from '@headset-cloud/kit/forget/request.ts';
import type { Filter } from '@headset-cloud/kit/store/operations.ts';
import type { Store } from '@headset-cloud/kit/store/types.ts';
import type { ForgetStore } from '../ports.ts';
import type { DeliveryDocument } from './documents.ts';
import { deliveriesCollection } from './indexes.ts';

/** Not being sent, and without an audit record that is not published. */
const ended: Filter<DeliveryDocument> = { status: { $ne: 'pending' }, auditAtMs: { $exists: false } };

/** Deliveries by what their ids begin with: the index of `_id` finds them, in documents of every release. */
export function createForgetStore(store: Store): ForgetStore {
  const deliveries = store.collection<DeliveryDocument>(deliveriesCollection);
  const limit = deliveries.batchesAtOnce === undefined ? forgetAtOnce.overNetwork : forgetAtOnce.inProcess;

  async function forget(of: Filter<DeliveryDocument>, dryRun: boolean) {
    const removed = dryRun
      ? await deliveries.countDocuments({ ...of, ...ended })
      : (await deliveries.deleteMany({ ...of, ...ended })).deletedCount;
    const all = await deliveries.countDocuments(of);
    return { removed, left: dryRun ? all - removed : all };
  }

  return {
    ofTransaction: (transactionId, dryRun) => forget(beginningWith(`tx-${transactionId}-`), dryRun),
    one: (notificationId, dryRun) => forget({ _id: notificationId }, dryRun),
    async reported(deviceId, dryRun) {
      const of = beginningWith(`device-${deviceId}-`);
      if (dryRun) return { ...(await forget(of, true)), more: false };
      const found = await deliveries.find({ ...of, ...ended }, { limit, projection: { _id: 1 } }).toArray();
      const ids = found.map(({ _id }) => _id);
      const { deletedCount } = await deliveries.deleteMany({ _id: { $in: ids }, ...ended });
      if (found.length === limit) return { removed: deletedCount, left: 0, more: true };
      return { removed: deletedCount, left: await deliveries.countDocuments(of), more: false };
    },
  };
}

/** Ids that begin so: up to the character behind the last one. */
function beginningWith(prefix: string): Filter<DeliveryDocument> {
  const last = prefix.length - 1;
  const end = prefix.slice(0, last) + String.fromCharCode(prefix.charCodeAt(last) + 1);
  return { _id: { $gte: prefix, $lt: end } };
}
