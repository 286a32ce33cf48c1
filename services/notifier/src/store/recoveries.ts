import { type OwedRecord, type OwingDocument, owingFields } from '@headset-cloud/kit/audit/record.ts';
import { isDuplicateKey } from '@headset-cloud/kit/errors.ts';
import type { Store } from '@headset-cloud/kit/store/types.ts';
import { type DestinationSetting, destinationSettings, laneOf } from '../domain/delivery.ts';
import type { Recovery, RecoveryStore } from '../ports.ts';
import { sentAgain } from './deliveries.ts';
import { type DeliveryDocument, fromDocument } from './documents.ts';
import { deliveriesCollection, recoveriesCollection } from './indexes.ts';

/** A recovery as a document. */
export interface RecoveryDocument extends OwingDocument {
  _id: string;
  applicationId: string;
  total: number;
  /** So many of the ids are done. */
  next: number;
  beganAtMs: number;
  /** 0: it runs. */
  endedAtMs: number;
  /** Also what was delivered is sent. */
  delivered: boolean;
  /** What is to be sent again; absent once it has ended. */
  ids?: string[];
  /** The application while it runs, so that it has one at a time; then its own id, which no other has. */
  running: string;
  /** When another instance may go on with it, if it runs. */
  dueAtMs?: number;
  /** Set when it has ended. */
  expireAt?: Date;
}

const farthestMs = 60_000;

/** Recoveries in the database of the deliveries. */
export function createRecoveryStore(store: Store, keptMs: number): RecoveryStore {
  const recoveries = store.collection<RecoveryDocument>(recoveriesCollection);
  const deliveries = store.collection<DeliveryDocument>(deliveriesCollection);

  return {
    async *ended({ applicationId, destination, statuses, sinceMs }) {
      for (const status of statuses) {
        for (const setting of destination ? [destination] : destinationSettings) {
          const lane = laneOf(applicationId, setting as DestinationSetting);
          // It has ended after it was created.
          const found = deliveries.find(
            { status, lane, dueAtMs: { $gte: sinceMs } },
            { sort: { dueAtMs: 1 } },
          );
          for await (const one of found) if (one.createdAtMs >= sinceMs) yield fromDocument(one);
        }
      }
    },
    async begin({ recoveryId, applicationId, ids, delivered, nowMs }, record: OwedRecord) {
      const fresh: RecoveryDocument = {
        ...{ _id: recoveryId, applicationId, total: ids.length, next: 0, delivered },
        ...{ beganAtMs: nowMs, endedAtMs: 0, ids: [...ids], running: applicationId, dueAtMs: nowMs },
        ...owingFields(record),
      };
      try {
        await recoveries.insertOne(fresh as never);
        return true;
      } catch (error) {
        if (isDuplicateKey(error)) return false;
        throw error;
      }
    },
    async get(recoveryId) {
      const found = await recoveries.findOne({ _id: recoveryId }, { projection: { ids: 0 } });
      return found ? toRecovery(found) : undefined;
    },
    async runningOf(applicationId) {
      const found = await recoveries.findOne({ running: applicationId }, { projection: { ids: 0 } });
      return found ? toRecovery(found) : undefined;
    },
    async claim(nowMs, untilMs) {
      const found = await recoveries.findOneAndUpdate(
        // A time that is further ahead than any is made is of a clock that was ahead.
        { $or: [{ dueAtMs: { $lte: nowMs } }, { dueAtMs: { $gt: nowMs + farthestMs } }] },
        { $set: { dueAtMs: untilMs } },
        { sort: { dueAtMs: 1 }, returnDocument: 'after' },
      );
      return found ? { ...toRecovery(found), ids: found.ids ?? [], delivered: found.delivered } : undefined;
    },
    async sendAgain(recoveryId, ids, statuses, nowMs) {
      await deliveries.updateMany(
        { _id: { $in: [...ids] }, status: { $in: [...statuses] }, recovery: { $ne: recoveryId } },
        sentAgain(nowMs, { recovery: recoveryId }),
      );
    },
    async progress(recoveryId, from, to, dueAtMs) {
      await recoveries.updateOne({ _id: recoveryId, next: from }, { $set: { next: to, dueAtMs } });
    },
    async end(recoveryId, nowMs) {
      await recoveries.updateOne(
        { _id: recoveryId },
        {
          $set: { endedAtMs: nowMs, expireAt: new Date(nowMs + keptMs), running: recoveryId },
          // Ids of what headsets reported name the device.
          $unset: { ids: '', dueAtMs: '' },
        },
      );
    },
  };
}

function toRecovery({ _id, applicationId, total, next, beganAtMs, endedAtMs }: RecoveryDocument): Recovery {
  return { recoveryId: _id, applicationId, total, next, beganAtMs, endedAtMs };
}
