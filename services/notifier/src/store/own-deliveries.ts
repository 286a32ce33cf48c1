import { withAuditRecord } from '@headset-cloud/rules/audit/record.ts';
import { withIdPrefix } from '@headset-cloud/rules/forget/ids.ts';
import type { Filter } from '@headset-cloud/store/operations.ts';
import type { Store } from '@headset-cloud/store/types.ts';
import { type DeliveryStatus, destinationSettings, laneOf } from '../domain/delivery.ts';
import type { ListMark, OwnDeliveries, OwnQuery } from '../ports/own-deliveries.ts';
import { sentAgain } from './deliveries.ts';
import { type DeliveryDocument, fromDocument } from './documents.ts';
import { deliveriesCollection } from './indexes.ts';

type Field = 'createdAtMs' | 'dueAtMs';
type Created = Pick<DeliveryDocument, '_id' | 'createdAtMs'>;

/** Pending deliveries have no index by application and creation. Up to this many are read and sorted on request. */
const fewPending = 1000;

/** An application's deliveries, found by indexes that have their order. */
export function createOwnDeliveries(store: Store): OwnDeliveries {
  const deliveries = store.collection<DeliveryDocument>(deliveriesCollection);

  async function at(filter: Filter<DeliveryDocument>, field: Field, ms: number) {
    const found = await deliveries.find({ ...filter, [field]: ms } as Filter<DeliveryDocument>).toArray();
    return found.sort((a, b) => (a._id < b._id ? 1 : -1));
  }

  /**
   * Pending deliveries, newest first. Undefined if there are many: a scan of all deliveries then finds enough of them.
   */
  async function pendingOf({ applicationId, destination }: OwnQuery): Promise<Created[] | undefined> {
    const filter = ofLanes({ applicationId, destination, status: 'pending' });
    if ((await deliveries.countDocuments(filter, { limit: fewPending + 1 })) > fewPending) return undefined;
    const found = await deliveries.find(filter, { projection: { createdAtMs: 1 } }).toArray();
    return found.sort((a, b) => b.createdAtMs - a.createdAtMs || (a._id < b._id ? 1 : -1));
  }

  /** Reads deliveries completely. Some may have ended in the meantime; the caller filters by state. */
  async function whole(of: readonly Created[]): Promise<DeliveryDocument[]> {
    const found = await deliveries.find({ _id: { $in: of.map(({ _id }) => _id) } }).toArray();
    const byId = new Map(found.map((one) => [one._id, one]));
    return of.flatMap(({ _id }) => byId.get(_id) ?? []);
  }

  return {
    async newest(query, after, count) {
      if (query.status === 'pending') {
        const few = await pendingOf(query);
        if (few) return (await whole(behind(few, after).slice(0, count))).map(fromDocument);
      }
      const { filter, field } = planOf(query);
      // The index does not contain the ids, so deliveries with the same time are read together and sorted.
      const same = after ? await at(filter, field, after.atMs) : [];
      const found = same.filter(({ _id }) => after && _id < after.id);
      if (found.length < count) {
        // The range is one of creation times. If the index has the time of the end, the caller applies the range.
        const { fromMs, toMs } = field === 'createdAtMs' ? query : {};
        const times = {
          ...(after ? { $lt: after.atMs } : toMs !== undefined && { $lte: toMs }),
          ...(fromMs !== undefined && { $gte: fromMs }),
        };
        const older = await deliveries
          .find(
            {
              ...filter,
              ...(Object.keys(times).length > 0 && { [field]: times }),
            } as Filter<DeliveryDocument>,
            { sort: { [field]: -1 }, limit: count - found.length },
          )
          .toArray();
        const last = older.at(-1);
        // The limit may have left out deliveries with the last time.
        const ofLast = last ? await at(filter, field, last[field]) : [];
        const earlierTimes = older.filter((one) => one[field] !== last?.[field]);
        earlierTimes.sort((a, b) => b[field] - a[field] || (a._id < b._id ? 1 : -1));
        found.push(...earlierTimes, ...ofLast);
      }
      return found.map(fromDocument);
    },
    async ofTransaction(applicationId, transactionId) {
      const found = await deliveries.find(withIdPrefix(`tx-${transactionId}-`)).toArray();
      return found.filter((one) => one.applicationId === applicationId).map(fromDocument);
    },
    async sendAgain(id, by, nowMs, record) {
      const document = await deliveries.findOneAndUpdate(
        { _id: id, status: { $in: ['dead', 'delivered'] } },
        withAuditRecord<DeliveryDocument>(sentAgain(nowMs, { sentAgainBy: by }), record),
        { returnDocument: 'after' },
      );
      return document ? fromDocument(document) : undefined;
    },
    async sentAgainBy(id) {
      return (await deliveries.findOne({ _id: id }, { projection: { sentAgainBy: 1 } }))?.sentAgainBy;
    },
  };
}

function planOf(query: OwnQuery): { filter: Filter<DeliveryDocument>; field: Field } {
  const { applicationId, status } = query;
  if (status === undefined || status === 'pending') {
    return { filter: { applicationId }, field: 'createdAtMs' };
  }
  return { filter: ofLanes({ ...query, status }), field: 'dueAtMs' };
}

function ofLanes({
  applicationId,
  destination,
  status,
}: Pick<OwnQuery, 'applicationId' | 'destination'> & { readonly status: DeliveryStatus }) {
  const lanes = (destination ? [destination] : destinationSettings).map((one) => laneOf(applicationId, one));
  return { status, lane: { $in: lanes } } satisfies Filter<DeliveryDocument>;
}

function behind(found: readonly Created[], after: ListMark | undefined): readonly Created[] {
  if (!after) return found;
  return found.filter(
    ({ _id, createdAtMs }) => createdAtMs < after.atMs || (createdAtMs === after.atMs && _id < after.id),
  );
}
