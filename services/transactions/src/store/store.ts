import { isDuplicateKey } from '@headset-cloud/kit/errors.ts';
import { coalescedWriter } from '@headset-cloud/kit/store/coalesced.ts';
import type { Store, StoreCollection } from '@headset-cloud/kit/store/types.ts';
import { Binary, type Filter } from 'mongodb';
import { acceptedMessage, type OwedCallback } from '../domain/callbacks.ts';
import { commandOperation } from '../domain/forms/operations.ts';
import { callbacksOf, cancelMessages, type EventType, type Status, statesThatTake } from '../domain/state.ts';
import type { ListSort, ReportedEnd, StoredTransaction, TransactionStore } from '../ports.ts';
import { type Change, createChanges, takenIn, toStored } from './changes.ts';
import { type CounterDocument, collections, type TransactionDocument } from './documents.ts';
import { listedFields, toListed } from './fields.ts';
import { createHeadStore } from './heads.ts';
import { createIdSource } from './ids.ts';
import { createProgressStore } from './progress.ts';
import { acceptedResets } from './resets.ts';

const sortField: Record<ListSort, string> = {
  transactionId: '_id',
  deviceId: 'deviceId',
  transactionStatus: 'status',
  operationId: 'operationId',
};

/** The port on MongoDB's API; the same code on both stacks (decision 5). */
export function createTransactionStore(
  store: Store,
  options: { idBlock: number; leftoverAfterMs: number; progressIntervalMs: number },
): TransactionStore {
  const transactions: StoreCollection<TransactionDocument> = store.collection(collections.transactions);
  const ids = createIdSource(store.collection<CounterDocument>(collections.counters), options.idBlock);
  const changes = createChanges(options.leftoverAfterMs);
  const insert = coalescedWriter<TransactionDocument>(transactions, {
    one: (document) => transactions.insertOne(document),
    many: (documents) => transactions.insertMany([...documents], { ordered: false }),
  });
  // What headsets report is durable in the log, and goes out as callbacks through the log again.
  const reported: StoreCollection<TransactionDocument> = store.collection(collections.transactions, {
    settle: 'in-order',
  });
  const headStore = createHeadStore(store);
  const resets = acceptedResets(transactions);
  const ended = (
    { success, message, atMs, connectivity }: ReportedEnd,
    now: number,
    set: Partial<TransactionDocument> = {},
  ): Change => ({
    now,
    owed: [{ kind: 'processed', atMs, success, message, ...(connectivity && { connectivity }) }],
    set: { ...set, end: { success, message, at: new Date(now), atMs } },
  });

  /** One conditional update by an event of the state table; owes its callbacks in the same write. */
  const apply = (
    into: StoreCollection<TransactionDocument>,
    filter: Filter<TransactionDocument>,
    event: EventType,
    to: Status,
    change: Change,
  ): Promise<TransactionDocument | null> =>
    into.findOneAndUpdate({ ...filter, status: { $in: statesThatTake(event, to) } }, changes.to(to, change), {
      returnDocument: 'after',
    });

  return {
    ...headStore,
    async drawIdFor(deviceId) {
      const lastId = await headStore.lastIdOf(deviceId);
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
        dueAt: changes.leftover(now),
        ...(failed && {
          outbox: takenIn(
            [{ kind: 'processed', atMs: now, success: false, message: t.failMessage ?? '' }],
            now,
          ),
          end: { success: false, message: t.failMessage ?? '', at },
        }),
        ...(t.traceparent && { traceparent: t.traceparent }),
        ...(t.minimum.client && { minimumClientVersion: t.minimum.client }),
        ...(t.minimum.firmware && { minimumFirmwareVersion: t.minimum.firmware }),
      };
      try {
        await insert(document);
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
      const options = { sort, skip: q.skip, limit: q.limit, projection: listedFields };
      return (await transactions.find(filter, options).toArray()).map(toListed);
    },
    async listOfDevice(deviceId, openOnly, limit) {
      const filter: Filter<TransactionDocument> = openOnly ? { deviceId, open: true } : { deviceId };
      const options = { sort: { _id: -1 as const }, limit, projection: listedFields };
      return (await transactions.find(filter, options).toArray()).map(toListed);
    },
    async openOfDevice(deviceId) {
      return (await transactions.find({ deviceId, open: true }, { sort: { _id: 1 } }).toArray()).map(
        toStored,
      );
    },

    async markPublished(marks, now) {
      // Those of headsets that are away all have the epoch 0: one update for many.
      const byEpoch = Map.groupBy(marks, (m) => m.sentEpoch);
      await transactions.bulkWrite(
        [...byEpoch].map(([sentEpoch, handedOver]) => ({
          updateMany: {
            filter: {
              _id: { $in: handedOver.map((m) => m.id) },
              status: { $in: statesThatTake('published', 'published') },
            },
            update: {
              $set: { status: 'published' as const, updatedAt: new Date(now) },
              // A newer session may have been judged since.
              $max: { sentEpoch },
              $unset: { dueAt: true as const },
            },
          },
        })),
        { ordered: false },
      );
    },
    async markJudged(marks, sessionEpoch, now) {
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
              update: {
                $set: {
                  attempts: m.attempts,
                  ...(m.countedAtMs !== undefined && { 'counted.at': new Date(m.countedAtMs) }),
                  ...(m.countedAdvance !== undefined && { 'counted.advance': m.countedAdvance }),
                  ...(m.wish !== undefined && { wish: { message: m.wish, at: new Date(now) } }),
                },
                $max: { sentEpoch: sessionEpoch },
              },
            },
          },
        ]),
        { ordered: true },
      );
    },

    async accept(id, session, floorEpoch, now) {
      const document = await apply(
        transactions,
        {
          _id: id,
          deviceId: session.deviceId,
          activationEpoch: { $gte: floorEpoch },
          sentEpoch: { $lte: session.epoch },
          minimumClientVersion: session.meets?.client || { $exists: false },
          minimumFirmwareVersion: session.meets?.firmware || { $exists: false },
        },
        'accept',
        'accepted',
        {
          now,
          owed: [{ kind: 'accepted', atMs: now, success: true, message: acceptedMessage }],
          set: { sentEpoch: session.epoch, acceptedAtMs: now },
        },
      );
      return document && toStored(document);
    },
    async refuse(id, { deviceId, epoch }, floorEpoch, message, now) {
      const document = await apply(
        transactions,
        { _id: id, deviceId, activationEpoch: { $gte: floorEpoch }, sentEpoch: { $lte: epoch } },
        'refuse',
        'processed',
        ended({ success: false, message, atMs: now }, now, { sentEpoch: epoch }),
      );
      return document && toStored(document);
    },
    async finish(id, deviceId, end, now) {
      const document = await apply(reported, { _id: id, deviceId }, 'result', 'processed', ended(end, now));
      return document && toStored(document);
    },
    acceptedResets: async (deviceId) =>
      (await resets(deviceId)).map(({ _id, sentEpoch }) => ({ id: _id, sentEpoch })),
    async finishReset(id, epoch, end, now) {
      const document = await apply(
        reported,
        { _id: id, sentEpoch: { $lt: epoch } },
        'reset-done',
        'processed',
        ended(end, now),
      );
      return document && toStored(document);
    },
    ...createProgressStore(reported, { changes, intervalMs: options.progressIntervalMs }),
    async revoked(id, deviceId, atMs, now) {
      const asked = await transactions.findOne({ _id: id, deviceId, open: true });
      if (!asked) return null;
      const message = asked.wish?.message;
      if (message === undefined) {
        // It was not asked to: the operation has failed, and its callback says so.
        const end = { success: false, message: 'The device did not carry out the operation.', atMs };
        const failed = await apply(
          reported,
          { _id: id, deviceId, wish: { $exists: false } },
          'result',
          'processed',
          ended(end, now),
        );
        return failed && toStored(failed);
      }
      const document = await apply(reported, { _id: id, deviceId }, 'revoked', 'canceled', {
        now,
        owed: [{ kind: 'canceled', atMs: now, success: false, message }],
        set: { end: { success: false, message, at: new Date(now), atMs: now } },
      });
      return document && toStored(document);
    },
    async answer(id, deviceId, answer, now) {
      const owed: OwedCallback = { kind: 'answer', ...answer };
      const unanswered = {
        _id: id,
        deviceId,
        operationId: commandOperation,
        answeredAt: { $exists: false },
      };
      const after = await reported.findOneAndUpdate(
        { ...unanswered, status: 'processed' },
        {
          $set: { answeredAt: new Date(now) },
          $min: { dueAt: changes.leftover(now) },
          $push: { outbox: { $each: takenIn([owed], now) } },
          $inc: { outboxSeq: 1 },
        },
        { returnDocument: 'after' },
      );
      if (after) return toStored(after);
      const { success, message, atMs } = answer;
      const ended = await reported.findOneAndUpdate(
        { ...unanswered, open: true },
        changes.to('processed', {
          now,
          owed: callbacksOf('answer', 'accepted').map((kind) =>
            kind === 'answer' ? owed : { kind, atMs, success, message },
          ),
          set: { answeredAt: new Date(now), end: { success, message, at: new Date(now), atMs } },
        }),
        { returnDocument: 'after' },
      );
      return ended && toStored(ended);
    },
    async recordLate(id, deviceId, end, now) {
      await reported.updateOne(
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

    async cancelByPlatform(wanted, message, stamp, now, seen) {
      if (wanted.length === 0) return [];
      const states = statesThatTake('cancel-by-platform', 'canceled').filter(
        (status) => !seen || (status === 'accepted') === seen.accepted,
      );
      await transactions.updateMany(
        {
          _id: { $in: [...wanted] },
          status: { $in: states },
          ...(seen && { sentEpoch: { $lte: seen.epoch } }),
        },
        changes.canceled(message, stamp, now),
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
        changes.canceled(cancelMessages.request, request.stamp, now),
      );
      return (await transactions.find({ cancelStamp: request.stamp }).toArray()).map(toStored);
    },

    async clearOutbox(published) {
      await transactions.bulkWrite(
        published.map((p) => ({
          updateOne: {
            filter: { _id: p.id, outboxSeq: p.outboxSeq },
            update: {
              $unset: {
                outbox: true as const,
                'progress.owed': true as const,
                ...(!p.deferred && { dueAt: true as const }),
              },
            },
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
    async setDue(id, outboxSeq, at) {
      await transactions.updateOne({ _id: id, outboxSeq }, { $set: { dueAt: new Date(at) } });
    },
    countWishes: () => transactions.countDocuments({ 'wish.at': { $gt: new Date(0) } }),
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
}
