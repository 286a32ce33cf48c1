import type { Filter } from '@headset-cloud/store/operations.ts';
import type { StoreCollection } from '@headset-cloud/store/types.ts';
import { operationKey } from '../domain/online.ts';
import { isEnd, openStatuses } from '../domain/state.ts';
import type { ListSort, Queries } from '../ports/queries.ts';
import { acceptedOfDevices } from './accepted.ts';
import { toStored } from './changes.ts';
import type { TransactionDocument } from './documents.ts';
import { listedFields, toListed } from './fields.ts';
import { openOfDevices } from './open-of-device.ts';

const sortField: Record<ListSort, string> = {
  transactionId: '_id',
  deviceId: 'deviceId',
  transactionStatus: 'status',
  operationId: 'operationId',
};

/** Reads transactions. */
export function createQueries(transactions: StoreCollection<TransactionDocument>): Queries {
  return {
    async get(id) {
      const document = await transactions.findOne({ _id: id });
      return document ? toStored(document) : undefined;
    },
    async getListed(id) {
      const document = await transactions.findOne({ _id: id }, { projection: listedFields });
      return document ? toListed(document) : undefined;
    },
    async getMany(wanted) {
      if (wanted.length === 0) return [];
      return (await transactions.find({ _id: { $in: [...wanted] } }).toArray()).map(toStored);
    },
    async list(q) {
      const direction = q.descending ? -1 : 1;
      const filter: Filter<TransactionDocument> = {
        applicationId: q.applicationId,
        ...(q.deviceId !== undefined && { deviceId: q.deviceId }),
        ...(q.statuses && { status: { $in: [...q.statuses] } }),
      };
      const field = sortField[q.sortBy];
      const sort: Record<string, 1 | -1> =
        field === '_id' ? { _id: direction } : { [field]: direction, _id: direction };
      const options = { sort, skip: q.skip, limit: q.limit, projection: listedFields };
      return (await transactions.find(filter, options).toArray()).map(toListed);
    },
    async listOfDevice(deviceId, openOnly, limit) {
      const filter: Filter<TransactionDocument> = openOnly ? { deviceId, open: true } : { deviceId };
      const options = { sort: { _id: -1 as const }, limit, projection: listedFields };
      return (await transactions.find(filter, options).toArray()).map(toListed);
    },
    async find({ applicationId, statuses, createdBeforeMs = Number.POSITIVE_INFINITY, limit }) {
      const options = { sort: { _id: 1 as const }, limit, projection: listedFields };
      // One query per state, each in the order of an index.
      const found = await Promise.all(
        statuses.map((status) =>
          transactions
            .find(applicationId === undefined ? { open: true, status } : { applicationId, status }, options)
            .toArray(),
        ),
      );
      // Newer transactions come last and are filtered here: a condition on the time would read the index to its end.
      return found
        .flat()
        .sort((a, b) => a._id - b._id)
        .map(toListed)
        .filter(({ createdAtMs }) => createdAtMs < createdBeforeMs)
        .slice(0, limit);
    },
    openOfDevice: openOfDevices(transactions),
    acceptedOfDevice: acceptedOfDevices(transactions),
    async supersededOf(lost, deviceId) {
      const superseded = new Set<number>();
      for (const [applicationId, of] of Map.groupBy(lost, (t) => t.applicationId)) {
        const operationId = { $in: [...new Set(of.map((t) => t.operationId))] };
        const _id = { $gt: Math.min(...of.map((t) => t.id)) };
        const projection = { operationId: 1, subject: 1, status: 1, acceptedAtMs: 1 } as const;
        const later = await transactions
          .find({ applicationId, deviceId, _id, operationId }, { projection })
          .toArray();
        const ranOrMayRun = later.filter((d) => !isEnd(d.status) || d.acceptedAtMs);
        for (const t of of) {
          if (ranOrMayRun.some((d) => d._id > t.id && operationKey(d) === operationKey(t)))
            superseded.add(t.id);
        }
      }
      return superseded;
    },
    countDue: () => transactions.countDocuments({ dueAt: { $gt: new Date(0) } }),
    countCancelRequests: () => transactions.countDocuments({ 'wish.at': { $gt: new Date(0) } }),
    countOpenOfDevice: (deviceId, most) =>
      transactions.countDocuments({ deviceId, open: true }, { limit: most }),
    async countOpenOfApplication(applicationId, most) {
      // One count for each state, by the index of that state.
      const counts = await Promise.all(
        openStatuses.map((status) => transactions.countDocuments({ applicationId, status }, { limit: most })),
      );
      return Math.min(
        most,
        counts.reduce((sum, n) => sum + n, 0),
      );
    },
    countOpen: (status) => transactions.countDocuments({ open: true, status }),
    async oldestOpenAtMs(status) {
      // Ids rise with creation, so the lowest id is the oldest, except within the size of an id block.
      const oldest = await transactions.findOne(
        { open: true, status },
        { sort: { _id: 1 }, projection: { createdAt: 1 } },
      );
      return oldest?.createdAt.getTime();
    },
  };
}
