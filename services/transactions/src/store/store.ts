import { isDuplicateKey } from '@headset-cloud/runtime/errors.ts';
import { coalescedChange, coalescedWriter } from '@headset-cloud/store/coalesced.ts';
import type { Filter } from '@headset-cloud/store/operations.ts';
import type { Store, StoreCollection } from '@headset-cloud/store/types.ts';
import { Binary } from 'mongodb';
import { operationKey } from '../domain/online.ts';
import { portions } from '../domain/portions.ts';
import {
  beginning,
  cancelMessages,
  changesOf,
  isEnd,
  type Status,
  statesThatTake,
  type TransactionEvent,
} from '../domain/state.ts';
import type { ListSort } from '../ports/queries.ts';
import type { StoredTransaction } from '../ports/stored-transaction.ts';
import type { TransactionStore } from '../ports/transaction-store.ts';
import type { CanceledTransaction } from '../ports/transitions.ts';
import { acceptedOfDevices } from './accepted.ts';
import { canceledFields, createChanges, takenIn, toCanceled, toStored } from './changes.ts';
import { type CounterDocument, collections, type TransactionDocument } from './documents.ts';
import { listedFields, toListed } from './fields.ts';
import { createHeadStore } from './heads.ts';
import { createIdSource } from './ids.ts';
import { openOfDevices } from './open-of-device.ts';
import { createProgressStore } from './progress.ts';
import { type Apply, createReportable, createReportedStore, directly } from './reported.ts';

const openStates = ['created', 'published', 'accepted'] as const;

const sortField: Record<ListSort, string> = {
  transactionId: '_id',
  deviceId: 'deviceId',
  transactionStatus: 'status',
  operationId: 'operationId',
};

/**
 * Documents that one write cancels; few, because each may have 1 MiB and the embedded store blocks
 * meanwhile.
 */
const canceledAtOnce = 16;

/** The port on MongoDB's API; the same code on both stacks (rule C5). */
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
  // 'in-order' suffices: headsets' reports are durable in the log, and their callbacks go through the log
  // again.
  const reported: StoreCollection<TransactionDocument> = store.collection(collections.transactions, {
    settle: 'in-order',
  });
  const headStore = createHeadStore(store);
  const apply: Apply = async (make, filter, event, now, set) => {
    for (const change of changesOf(event, now)) {
      const changed = await make({
        filter: { ...filter, status: { $in: [...change.from] } },
        update: changes.write(change, now, set),
      });
      if (changed) return changed;
    }
    return null;
  };
  // What a job needs twice goes together with others' (ADR 0049).
  const accept = coalescedChange(transactions, 'acceptStamp');
  const withStamp = async (stamp: string): Promise<CanceledTransaction[]> =>
    (await transactions.find({ cancelStamp: stamp }, { projection: canceledFields }).toArray()).map(
      toCanceled,
    );
  /** Cancels the documents of `filter` in the states that the event can leave, as far as `may` allows. */
  const cancel = async (
    ids: readonly number[],
    filter: Filter<TransactionDocument>,
    event: TransactionEvent,
    { stamp, now, may = () => true }: { stamp: string; now: number; may?: (from: Status) => boolean },
  ): Promise<CanceledTransaction[]> => {
    for (const change of changesOf(event, now)) {
      const update = changes.write(change, now, { cancelStamp: stamp });
      for (const some of portions(ids, canceledAtOnce)) {
        const from = change.from.filter(may);
        await transactions.updateMany({ ...filter, _id: { $in: some }, status: { $in: from } }, update);
      }
    }
    return await withStamp(stamp);
  };
  const reportable = createReportable(headStore);

  return {
    ...headStore,
    async drawIdFor(deviceId) {
      const lastId = await headStore.lastIdOf(deviceId);
      let id = await ids.draw();
      while (id <= lastId) {
        // Another process has drawn higher ids for this device: a fresh block is above them.
        ids.dropBlockOf(id);
        id = await ids.draw();
      }
      return id;
    },
    drawId: () => ids.draw(),
    dropIdBlockOf: (id) => ids.dropBlockOf(id),

    async insert(t, now) {
      const at = new Date(now);
      const { to: status, owed, end } = beginning(t.failMessage, now);
      const document: TransactionDocument = {
        _id: t.id,
        deviceId: t.deviceId,
        applicationId: t.applicationId,
        operationId: t.operationId,
        subject: t.subject,
        status,
        ...(!end && { open: true as const }),
        activationEpoch: t.activationEpoch,
        operation: new Binary(t.operation),
        createdAt: at,
        updatedAt: at,
        attempts: 0,
        sentEpoch: 0,
        outboxSeq: owed.length,
        dueAt: changes.leftover(now),
        ...(end && { outbox: takenIn(owed, now), end: { ...end, at } }),
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
      // One query a state, each in the order of an index.
      const found = await Promise.all(
        statuses.map((status) =>
          transactions
            .find(applicationId === undefined ? { open: true, status } : { applicationId, status }, options)
            .toArray(),
        ),
      );
      // What is too new comes last, and is left out here: a condition on the time would read on to the end.
      return found
        .flat()
        .sort((a, b) => a._id - b._id)
        .map(toListed)
        .filter(({ createdAtMs }) => createdAtMs < createdBeforeMs)
        .slice(0, limit);
    },
    openOfDevice: openOfDevices(transactions),

    async markPublished(marks, now) {
      // Transactions of offline headsets all have the session epoch 0, so one update serves many.
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
              // $max, because a newer session may have been judged since.
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
      // Separate updates by state: a created one becomes published, an accepted one stays accepted.
      await transactions.bulkWrite(
        marks.flatMap((m) => {
          const update = {
            $set: {
              attempts: m.attempts,
              ...(m.countedAtMs !== undefined && { 'counted.at': new Date(m.countedAtMs) }),
              ...(m.countedAdvance !== undefined && { 'counted.advance': m.countedAdvance }),
              ...(m.wish !== undefined && { wish: { message: m.wish, at: new Date(now) } }),
            },
            $max: { sentEpoch: sessionEpoch },
          };
          const open = { _id: m.id, open: true as const };
          // It is held again: one update, because a process may die between two. Not if a newer session lost it since.
          const found = {
            filter: { ...open, lostEpoch: { $lte: sessionEpoch } },
            update: { ...update, $unset: { lostEpoch: true as const } },
          };
          return [
            {
              updateOne: {
                filter: { _id: m.id, status: 'created' as const },
                update: {
                  $set: { status: 'published' as const, updatedAt: new Date(now) },
                  $unset: { dueAt: true as const },
                },
              },
            },
            ...(m.found ? [{ updateOne: found }] : []),
            { updateOne: { filter: open, update } },
          ];
        }),
        { ordered: true },
      );
    },

    async accept(id, session, floorEpoch, now) {
      const document = await apply(
        accept,
        {
          _id: id,
          deviceId: session.deviceId,
          activationEpoch: { $gte: floorEpoch },
          sentEpoch: { $lte: session.epoch },
          // Its headset is asked to give it up.
          wish: { $exists: false },
          minimumClientVersion: session.meets?.client || { $exists: false },
          minimumFirmwareVersion: session.meets?.firmware || { $exists: false },
        },
        { type: 'accept' },
        now,
        { sentEpoch: session.epoch },
      );
      return document && toStored(document);
    },
    async refuse(id, { deviceId, epoch }, floorEpoch, { message, lostEpoch }, now) {
      const asked = { _id: id, deviceId, activationEpoch: { $gte: floorEpoch }, sentEpoch: { $lte: epoch } };
      const document =
        lostEpoch > 0
          ? await apply(
              directly(transactions),
              { ...asked, lostEpoch },
              { type: 'result', end: { success: false, message, atMs: now } },
              now,
            )
          : await apply(directly(transactions), asked, { type: 'refuse', message }, now, {
              sentEpoch: epoch,
            });
      return document && toStored(document);
    },
    ...createReportedStore(reported, { apply, reportable }),
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
        const ran = later.filter((d) => !isEnd(d.status) || d.acceptedAtMs);
        for (const t of of) {
          if (ran.some((d) => d._id > t.id && operationKey(d) === operationKey(t))) superseded.add(t.id);
        }
      }
      return superseded;
    },
    async markLost(lost, epoch) {
      await reported.updateMany(
        { _id: { $in: [...lost] }, status: 'accepted', sentEpoch: { $lt: epoch } },
        { $max: { lostEpoch: epoch } },
      );
    },
    async found(id, { deviceId, epoch }, lostEpoch) {
      const isLost = lostEpoch > 0 ? lostEpoch : { $exists: false };
      const { matchedCount } = await transactions.updateOne(
        { _id: id, deviceId, status: 'accepted', sentEpoch: { $lte: epoch }, lostEpoch: isLost },
        { $set: { sentEpoch: epoch }, $unset: { lostEpoch: true } },
      );
      return matchedCount > 0;
    },
    async finishReset(id, epoch, end, now) {
      const document = await apply(
        directly(reported),
        { _id: id, sentEpoch: { $lt: epoch } },
        { type: 'reset-done', end },
        now,
      );
      return document && toStored(document);
    },
    ...createProgressStore(reported, { changes, reportable, intervalMs: options.progressIntervalMs }),

    async cancelByPlatform(wanted, message, stamp, now, seen) {
      if (wanted.length === 0) return [];
      const filter: Filter<TransactionDocument> = {
        ...(seen && { sentEpoch: { $lte: seen.epoch } }),
        ...(seen?.lostEpoch && { lostEpoch: seen.lostEpoch }),
      };
      const may = (from: Status) => !seen || (from === 'accepted') === seen.accepted;
      return cancel(wanted, filter, { type: 'cancel-by-platform', message }, { stamp, now, may });
    },
    async cancelByRequest({ ids, deviceId, applicationId, stamp, reachable }, now) {
      if (ids.length === 0) return [];
      const type = reachable ? 'cancel-reachable' : 'cancel-away';
      const filter: Filter<TransactionDocument> = { deviceId, applicationId, open: true };
      return cancel(ids, filter, { type, message: cancelMessages.request }, { stamp, now });
    },

    async clearOutbox(published) {
      await transactions.bulkWrite(
        published.map((p) => ({
          updateOne: {
            filter: { _id: p.id, outboxSeq: p.outboxSeq },
            update: {
              ...(p.operation && { $set: { operation: new Binary(p.operation) } }),
              $unset: {
                outbox: true as const,
                acceptStamp: true as const,
                resultStamp: true as const,
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
      // Without the operations, of up to 1 MiB each: they are read only for the claimed transactions.
      const due = await transactions
        .find({ dueAt: { $lte: new Date(now) } }, { sort: { dueAt: 1 }, limit, projection: { dueAt: 1 } })
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
    async recall(latest, now) {
      // Progress that is deferred, and nothing else, keeps its time: the next report or the end ends that wait.
      const $or = [
        { 'progress.deferred': { $exists: false } },
        { outbox: { $exists: true } },
        { 'progress.owed': true as const },
      ];
      await transactions.updateMany(
        { dueAt: { $gt: new Date(latest) }, $or },
        { $set: { dueAt: new Date(now) } },
      );
    },
    async setDue(id, outboxSeq, at) {
      await transactions.updateOne({ _id: id, outboxSeq }, { $set: { dueAt: new Date(at) } });
    },
    countDue: () => transactions.countDocuments({ dueAt: { $gt: new Date(0) } }),
    countWishes: () => transactions.countDocuments({ 'wish.at': { $gt: new Date(0) } }),
    countOpenOfDevice: (deviceId, most) =>
      transactions.countDocuments({ deviceId, open: true }, { limit: most }),
    async countOpenOfApplication(applicationId, most) {
      // One count for each state, by the index of that state.
      const counts = await Promise.all(
        openStates.map((status) => transactions.countDocuments({ applicationId, status }, { limit: most })),
      );
      return Math.min(
        most,
        counts.reduce((sum, n) => sum + n, 0),
      );
    },
    countOpen: (status) => transactions.countDocuments({ open: true, status }),
    async oldestOpenAtMs(status) {
      // Ids rise with creation, so the lowest id of a state is the oldest, apart from ids of one block's
      // width.
      const oldest = await transactions.findOne(
        { open: true, status },
        { sort: { _id: 1 }, projection: { createdAt: 1 } },
      );
      return oldest?.createdAt.getTime();
    },
  };
}
