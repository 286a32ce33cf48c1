import { isDuplicateKey } from '@headset-cloud/kit/errors.ts';
import type { Store, StoreCollection } from '@headset-cloud/kit/store/types.ts';
import DataLoader from 'dataloader';
import { Binary, type Filter, type UpdateFilter } from 'mongodb';
import { acceptedMessage, type OwedCallback } from '../domain/callbacks.ts';
import { callbacksOf, cancelMessages, type EventType, type Status, statesThatTake } from '../domain/state.ts';
import type { ListSort, StoredTransaction, TransactionStore } from '../ports.ts';
import {
  type CounterDocument,
  collections,
  type HeadDocument,
  type TransactionDocument,
} from './documents.ts';
import { createIdSource } from './ids.ts';

const sortField: Record<ListSort, string> = {
  transactionId: '_id',
  deviceId: 'deviceId',
  transactionStatus: 'status',
  operationId: 'operationId',
};

/** The port on MongoDB's API; the same code on both stacks (decision 5). */
export function createTransactionStore(
  store: Store,
  options: { idBlock: number; leftoverAfterMs: number },
): TransactionStore {
  const transactions: StoreCollection<TransactionDocument> = store.collection(collections.transactions);
  const heads: StoreCollection<HeadDocument> = store.collection(collections.heads);
  const ids = createIdSource(store.collection<CounterDocument>(collections.counters), options.idBlock);
  // Reads of one turn become one query. Nothing is kept beyond the turn: other processes raise floors.
  const headLoader = new DataLoader<string, HeadDocument | undefined>(
    async (deviceIds) => {
      const found = new Map<string, HeadDocument>();
      for (const head of await heads.find({ _id: { $in: [...deviceIds] } }).toArray())
        found.set(head._id, head);
      return deviceIds.map((id) => found.get(id));
    },
    { cache: false, maxBatchSize: 500 },
  );
  const leftover = (now: number) => new Date(now + options.leftoverAfterMs);

  /** One conditional update by an event of the state table; owes its callbacks in the same write. */
  const apply = (
    filter: Filter<TransactionDocument>,
    event: EventType,
    to: Status,
    change: { now: number; owed: OwedCallback[]; set?: Partial<TransactionDocument> },
  ): Promise<TransactionDocument | null> =>
    transactions.findOneAndUpdate(
      { ...filter, status: { $in: statesThatTake(event, to) } },
      update(to, change),
      { returnDocument: 'after' },
    );

  const update = (
    to: Status,
    change: { now: number; owed: OwedCallback[]; set?: Partial<TransactionDocument> },
  ): UpdateFilter<TransactionDocument> => ({
    $set: {
      status: to,
      updatedAt: new Date(change.now),
      dueAt: leftover(change.now),
      ...change.set,
    },
    $push: { outbox: { $each: change.owed } },
    $inc: { outboxSeq: 1 },
    ...(to === 'accepted' ? {} : { $unset: { open: true } }),
  });

  return {
    async drawIdFor(deviceId) {
      const lastId = (await headLoader.load(deviceId))?.lastId ?? 0;
      let id = await ids.draw();
      while (id <= lastId) {
        // Another process has drawn higher ids for this device: a fresh block is above them.
        ids.dropBlock();
        id = await ids.draw();
      }
      return id;
    },
    drawId: () => ids.draw(),
    dropIdBlock: () => ids.dropBlock(),

    async raiseHead(deviceId, raise) {
      const condition: Filter<HeadDocument> = {
        _id: deviceId,
        epoch: { $lte: raise.epoch },
        ...(raise.mustRise && { lastId: { $lt: raise.id } }),
      };
      try {
        await heads.updateOne(
          condition,
          {
            $max: { lastId: raise.id, epoch: raise.epoch },
            ...(raise.floor && { $set: { floor: raise.floor, floorDueAt: new Date() } }),
          },
          { upsert: true },
        );
        return 'raised';
      } catch (error) {
        // The document exists, but the condition did not hold: the upsert met its own _id.
        if (!isDuplicateKey(error)) throw error;
        const head = await heads.findOne({ _id: deviceId });
        return head && head.epoch > raise.epoch ? 'epoch-too-old' : 'id-too-low';
      }
    },

    async floorOf(deviceId) {
      return (await headLoader.load(deviceId))?.floor;
    },

    async insert(t, now) {
      const at = new Date(now);
      const failed = t.failMessage !== undefined;
      const document: TransactionDocument = {
        _id: t.id,
        deviceId: t.deviceId,
        applicationId: t.applicationId,
        operationId: t.operationId,
        subject: t.subject,
        status: failed ? 'processed' : 'created',
        ...(!failed && { open: true as const }),
        activationEpoch: t.activationEpoch,
        operation: new Binary(t.operation),
        createdAt: at,
        updatedAt: at,
        attempts: 0,
        sentEpoch: 0,
        outboxSeq: failed ? 1 : 0,
        dueAt: leftover(now),
        ...(failed && {
          outbox: [{ kind: 'processed', atMs: now, success: false, message: t.failMessage ?? '' }],
          end: { success: false, message: t.failMessage ?? '', at },
        }),
        ...(t.traceparent && { traceparent: t.traceparent }),
      };
      try {
        await transactions.insertOne(document);
        return toStored(document);
      } catch (error) {
        if (isDuplicateKey(error)) return undefined;
        throw error;
      }
    },

    async get(id) {
      const document = await transactions.findOne({ _id: id });
      return document ? toStored(document) : undefined;
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
      return (await transactions.find(filter, { sort, skip: q.skip, limit: q.limit }).toArray()).map(
        toStored,
      );
    },
    async listOfDevice(deviceId, openOnly, limit) {
      const filter: Filter<TransactionDocument> = openOnly ? { deviceId, open: true } : { deviceId };
      return (await transactions.find(filter, { sort: { _id: -1 }, limit }).toArray()).map(toStored);
    },
    async openOfDevice(deviceId) {
      return (await transactions.find({ deviceId, open: true }, { sort: { _id: 1 } }).toArray()).map(
        toStored,
      );
    },

    async markPublished(marks, now) {
      await transactions.bulkWrite(
        marks.map((m) => ({
          updateOne: {
            filter: { _id: m.id, status: { $in: statesThatTake('published', 'published') } },
            update: {
              $set: { status: 'published' as const, updatedAt: new Date(now), sentEpoch: m.sentEpoch },
              $unset: { dueAt: true as const },
            },
          },
        })),
        { ordered: false },
      );
    },
    async markSent(marks, now) {
      if (marks.length === 0) return;
      // Two updates at the most apply: a created one becomes published, an accepted one stays so.
      await transactions.bulkWrite(
        marks.flatMap((m) => [
          {
            updateOne: {
              filter: { _id: m.id, status: 'created' as const },
              update: {
                $set: { status: 'published' as const, updatedAt: new Date(now) },
                $unset: { dueAt: true as const },
              },
            },
          },
          {
            updateOne: {
              filter: { _id: m.id, open: true as const },
              update: { $set: { attempts: m.attempts }, $max: { sentEpoch: m.sentEpoch } },
            },
          },
        ]),
        { ordered: true },
      );
    },

    async accept(id, deviceId, floorEpoch, now) {
      const document = await apply(
        { _id: id, deviceId, activationEpoch: { $gte: floorEpoch } },
        'accept',
        'accepted',
        { now, owed: [{ kind: 'accepted', atMs: now, success: true, message: acceptedMessage }] },
      );
      return document && toStored(document);
    },
    async finish(id, deviceId, end, now) {
      const document = await apply({ _id: id, deviceId }, 'result', 'processed', {
        now,
        owed: [{ kind: 'processed', atMs: now, ...end }],
        set: { end: { ...end, at: new Date(now) } },
      });
      return document && toStored(document);
    },
    async answer(id, deviceId, answer, now) {
      const owed: OwedCallback = { kind: 'answer', atMs: now, ...answer };
      const unanswered = { _id: id, deviceId, answeredAt: { $exists: false } };
      const after = await transactions.findOneAndUpdate(
        { ...unanswered, status: 'processed' },
        {
          $set: { answeredAt: new Date(now), dueAt: leftover(now) },
          $push: { outbox: { $each: [owed] } },
          $inc: { outboxSeq: 1 },
        },
        { returnDocument: 'after' },
      );
      if (after) return toStored(after);
      const { success, message } = answer;
      const ended = await transactions.findOneAndUpdate(
        { ...unanswered, open: true },
        update('processed', {
          now,
          owed: callbacksOf('answer', 'accepted').map((kind) =>
            kind === 'answer' ? owed : { kind, atMs: now, success, message },
          ),
          set: { answeredAt: new Date(now), end: { success, message, at: new Date(now) } },
        }),
        { returnDocument: 'after' },
      );
      return ended && toStored(ended);
    },
    async recordLate(id, deviceId, end, now) {
      await transactions.updateOne(
        {
          _id: id,
          deviceId,
          open: { $exists: false },
          lateResult: { $exists: false },
          'end.message': { $ne: end.message },
        },
        { $set: { lateResult: { ...end, at: new Date(now) } } },
      );
    },

    async cancelByPlatform(wanted, message, stamp, now) {
      if (wanted.length === 0) return [];
      await transactions.updateMany(
        { _id: { $in: [...wanted] }, status: { $in: statesThatTake('cancel-by-platform', 'canceled') } },
        canceled(message, stamp, now),
      );
      return (await transactions.find({ cancelStamp: stamp }).toArray()).map(toStored);
    },
    async cancelByRequest(request, now) {
      if (request.ids.length === 0) return [];
      const event = request.reachable ? 'cancel-reachable' : 'cancel-away';
      await transactions.updateMany(
        {
          _id: { $in: [...request.ids] },
          deviceId: request.deviceId,
          applicationId: request.applicationId,
          open: true,
          status: { $in: statesThatTake(event, 'canceled') },
        },
        canceled(cancelMessages.request, request.stamp, now),
      );
      return (await transactions.find({ cancelStamp: request.stamp }).toArray()).map(toStored);
    },

    async clearOutbox(published) {
      await transactions.bulkWrite(
        published.map((p) => ({
          updateOne: {
            filter: { _id: p.id, outboxSeq: p.outboxSeq },
            update: { $unset: { outbox: true as const, dueAt: true as const } },
          },
        })),
        { ordered: false },
      );
    },

    async claimDue(now, until, limit) {
      const due = await transactions
        .find({ dueAt: { $lte: new Date(now) } }, { sort: { dueAt: 1 }, limit })
        .toArray();
      const claimed: StoredTransaction[] = [];
      for (const d of due) {
        const mine = await transactions.findOneAndUpdate(
          { _id: d._id, dueAt: d.dueAt as Date },
          { $set: { dueAt: new Date(until) } },
          { returnDocument: 'after' },
        );
        if (mine) claimed.push(toStored(mine));
      }
      return claimed;
    },
    async claimDueFloors(now, until, limit) {
      const due = await heads
        .find({ floorDueAt: { $lte: new Date(now) } }, { sort: { floorDueAt: 1 }, limit })
        .toArray();
      for (const d of due) {
        await heads.updateOne(
          { _id: d._id, floorDueAt: d.floorDueAt as Date },
          { $set: { floorDueAt: new Date(until) } },
        );
      }
      return due.map((d) => d._id);
    },
    async clearFloorDue(deviceId, floorEpoch) {
      await heads.updateOne({ _id: deviceId, 'floor.epoch': floorEpoch }, { $unset: { floorDueAt: true } });
    },
    countOpen: (status) => transactions.countDocuments({ open: true, status }),
    async oldestOpenAtMs(status) {
      // Ids rise with creation, so the lowest id of a state is the oldest but for a block's width.
      const oldest = await transactions.findOne(
        { open: true, status },
        { sort: { _id: 1 }, projection: { createdAt: 1 } },
      );
      return oldest?.createdAt.getTime();
    },
  };

  function canceled(message: string, stamp: string, now: number): UpdateFilter<TransactionDocument> {
    return update('canceled', {
      now,
      owed: [{ kind: 'canceled', atMs: now, success: false, message }],
      set: { end: { success: false, message, at: new Date(now) }, cancelStamp: stamp },
    });
  }
}

function toStored(d: TransactionDocument): StoredTransaction {
  return {
    id: d._id,
    deviceId: d.deviceId,
    applicationId: d.applicationId,
    operationId: d.operationId,
    subject: d.subject,
    status: d.status,
    activationEpoch: d.activationEpoch,
    operation: d.operation.buffer,
    createdAtMs: d.createdAt.getTime(),
    updatedAtMs: d.updatedAt.getTime(),
    attempts: d.attempts,
    sentEpoch: d.sentEpoch,
    outbox: d.outbox ?? [],
    outboxSeq: d.outboxSeq,
    endMessage: d.end?.message ?? '',
    traceparent: d.traceparent ?? '',
  };
}
