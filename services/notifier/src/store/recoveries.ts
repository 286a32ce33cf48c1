import {
  type PendingAuditFields,
  type PendingAuditRecord,
  pendingAuditFields,
} from '@headset-cloud/rules/audit/record.ts';
import { isDuplicateKey } from '@headset-cloud/runtime/errors.ts';
import type { Store } from '@headset-cloud/store/types.ts';
import { type DestinationSetting, destinationSettings, laneOf } from '../domain/delivery.ts';
import type { Recovery, RecoveryStore } from '../ports/recovery-store.ts';
import { sentAgain } from './deliveries.ts';
import { type DeliveryDocument, fromDocument } from './documents.ts';
import { deliveriesCollection, recoveriesCollection, recoveringCollection } from './indexes.ts';

/** A recovery as a document. */
export interface RecoveryDocument extends PendingAuditFields {
  _id: string;
  applicationId: string;
  total: number;
  /** Number of ids that are done. */
  next: number;
  beganAtMs: number;
  /** 0 while it runs. */
  endedAtMs: number;
  /** True to include delivered callbacks. */
  delivered: boolean;
  /** Ids to be sent again; absent after its end. */
  ids?: string[];
  /** Time when another instance may continue it, while it runs. */
  dueAtMs?: number;
  /** Set at its end. */
  expireAt?: Date;
}

/** Lock of an application: names its running or last recovery. An application has one recovery at a time. */
export interface RecoveringDocument {
  /** The application. */
  _id: string;
  recoveryId: string;
  atMs: number;
}

/** A due time further in the future than this was written by a fast clock; milliseconds. */
const farthestMs = 60_000;
/** Time after which a lock without a stored recovery is ignored, because its process counts as dead; milliseconds. */
const beginningMs = 60_000;

/** Recoveries in the database of the deliveries. */
export function createRecoveryStore(store: Store, keptMs: number): RecoveryStore {
  const recoveries = store.collection<RecoveryDocument>(recoveriesCollection);
  const recovering = store.collection<RecoveringDocument>(recoveringCollection);
  const deliveries = store.collection<DeliveryDocument>(deliveriesCollection);

  /**
   * Locks the application by a document with its id. A unique index of the recoveries would not be sufficient: the lock
   * of a dead process or of a finished recovery must be replaceable.
   */
  async function take(applicationId: string, recoveryId: string, nowMs: number): Promise<boolean> {
    try {
      await recovering.insertOne({ _id: applicationId, recoveryId, atMs: nowMs });
      return true;
    } catch (error) {
      if (!isDuplicateKey(error)) throw error;
    }
    const lock = await recovering.findOne({ _id: applicationId });
    // The recovery has just ended; the caller tries again.
    if (!lock) return false;
    if (lock.recoveryId === recoveryId) return true;
    const holder = await recoveries.findOne({ _id: lock.recoveryId }, { projection: { endedAtMs: 1 } });
    const isOver = holder ? holder.endedAtMs > 0 : Math.abs(nowMs - lock.atMs) > beginningMs;
    if (!isOver) return false;
    const taken = await recovering.updateOne(
      { _id: applicationId, recoveryId: lock.recoveryId },
      { $set: { recoveryId, atMs: nowMs } },
    );
    return taken.matchedCount === 1;
  }

  return {
    async *ended({ applicationId, destination, statuses, sinceMs }) {
      for (const status of statuses) {
        for (const setting of destination ? [destination] : destinationSettings) {
          const lane = laneOf(applicationId, setting as DestinationSetting);
          // A delivery ends after its creation, so the index by the time of the end finds all of them.
          const found = deliveries.find(
            { status, lane, dueAtMs: { $gte: sinceMs } },
            { sort: { dueAtMs: 1 } },
          );
          for await (const one of found) if (one.createdAtMs >= sinceMs) yield fromDocument(one);
        }
      }
    },
    async begin({ recoveryId, applicationId, ids, delivered, nowMs }, record: PendingAuditRecord) {
      if (!(await take(applicationId, recoveryId, nowMs))) return false;
      const fresh: RecoveryDocument = {
        ...{ _id: recoveryId, applicationId, total: ids.length, next: 0, delivered },
        ...{ beganAtMs: nowMs, endedAtMs: 0, ids: [...ids], dueAtMs: nowMs },
        ...pendingAuditFields(record),
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
      const lock = await recovering.findOne({ _id: applicationId });
      const found = lock && (await recoveries.findOne({ _id: lock.recoveryId }, { projection: { ids: 0 } }));
      return found && found.endedAtMs === 0 ? toRecovery(found) : undefined;
    },
    async claim(nowMs, untilMs) {
      const found = await recoveries.findOneAndUpdate(
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
    async end({ recoveryId, applicationId }, nowMs) {
      await recoveries.updateOne(
        { _id: recoveryId },
        {
          $set: { endedAtMs: nowMs, expireAt: new Date(nowMs + keptMs) },
          // Ids of headset reports contain the device.
          $unset: { ids: '', dueAtMs: '' },
        },
      );
      await recovering.deleteOne({ _id: applicationId, recoveryId });
    },
  };
}

function toRecovery({ _id, applicationId, total, next, beganAtMs, endedAtMs }: RecoveryDocument): Recovery {
  return { recoveryId: _id, applicationId, total, next, beganAtMs, endedAtMs };
}
