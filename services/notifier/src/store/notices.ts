import type { Clock } from '@headset-cloud/kit/clock.ts';
import { isDuplicateKey } from '@headset-cloud/kit/errors.ts';
import type { Store } from '@headset-cloud/kit/store/types.ts';
import { deliveryOf, type Notice } from '../domain/notice.ts';
import type { DeathStore, NoticeStore, Outage, OutageStore } from '../ports.ts';
import { type DeliveryDocument, type Retention, toDocument } from './documents.ts';
import { deathsCollection, deliveriesCollection, outagesCollection } from './indexes.ts';

const dayMs = 24 * 3_600_000;
/** So long after its last failure an outage is known. */
const outageKeptMs = 30 * dayMs;
/** So long after its last notice an application's number is known: no process waits that long to use it. */
const numberKeptMs = 30 * dayMs;
/** Most outages that are read. */
const mostOutages = 10_000;
/** Most waiting deliveries that are counted. */
const mostWaiting = 10_000;

/** A setting whose address takes nothing. */
export interface OutageDocument {
  /** The lane: application and setting. */
  _id: string;
  /** Random, so that notices of two outages differ. */
  occasion: string;
  sinceMs: number;
  forMs: number;
  /** Its notice is decided. */
  told?: true;
  /** It is over, and that is to be told. */
  ended?: true;
  /** Notices that are decided and may not be stored yet. */
  owed?: Notice[];
  expireAt: Date;
}

/** Of an application with callbacks that were given up. */
export interface DeathsDocument {
  /** The application. */
  _id: string;
  /** Notices so far. */
  number: number;
  /** What is being told: absent where nothing is. */
  telling?: { ids: string[]; notice: Notice };
  expireAt: Date;
}

/** Notices become deliveries: the feed has them, and what is to be sent is sent as any callback. */
export function createNoticeStore(store: Store, { deliveredMs }: Retention, clock: Clock): NoticeStore {
  const deliveries = store.collection<DeliveryDocument>(deliveriesCollection);
  return {
    async insert(notice) {
      const document = toDocument(deliveryOf(notice));
      try {
        await deliveries.insertOne({
          ...document,
          ...(notice.names.length > 0 && { names: [...notice.names] }),
          // One that was decided long before is kept from now on.
          ...(!notice.isSent && {
            expireAt: new Date(Math.max(document.dueAtMs, clock.now()) + deliveredMs),
          }),
        });
        return true;
      } catch (error) {
        if (isDuplicateKey(error)) return false;
        throw error;
      }
    },
    waiting: (lane) => deliveries.countDocuments({ status: 'pending', lane }, { limit: mostWaiting }),
  };
}

/** Outages, one document for each setting that is down. */
export function createOutageStore(store: Store, clock: Clock): OutageStore {
  const outages = store.collection<OutageDocument>(outagesCollection);
  const kept = () => new Date(clock.now() + outageKeptMs);
  const notEnded = { ended: { $exists: false } } as const;
  const notTold = { told: { $exists: false }, ...notEnded } as const;

  return {
    async all() {
      return (await outages.find({}, { limit: mostOutages }).toArray()).map(toOutage);
    },
    countTold: () => outages.countDocuments({ told: true, ...notEnded }),
    async join(lane, { occasion, sinceMs, forMs }) {
      const found = await outages.findOneAndUpdate(
        { _id: lane },
        { $setOnInsert: { occasion, sinceMs, forMs }, $set: { expireAt: kept() } },
        { upsert: true, returnDocument: 'after' },
      );
      if (!found) throw new Error('an upsert answered no document');
      return toOutage(found);
    },
    async goOn(lane, occasion, forMs) {
      const found = await outages.findOneAndUpdate(
        { _id: lane, occasion, ...notEnded },
        { $max: { forMs }, $set: { expireAt: kept() } },
        { returnDocument: 'after' },
      );
      return found ? toOutage(found) : undefined;
    },
    async tell(lane, occasion, notice) {
      const { matchedCount } = await outages.updateOne(
        { _id: lane, occasion, ...notTold },
        { $set: { told: true, owed: [notice] } },
      );
      return matchedCount === 1;
    },
    async end(lane, occasion, notice) {
      const { matchedCount } = await outages.updateOne(
        { _id: lane, occasion, told: true, ...notEnded },
        { $set: { ended: true }, $push: { owed: notice } },
      );
      return matchedCount === 1;
    },
    async drop(lane, occasion) {
      const { deletedCount } = await outages.deleteOne({ _id: lane, occasion, ...notTold });
      return deletedCount === 1;
    },
    async settle({ lane, occasion, ended }) {
      if (ended) await outages.deleteOne({ _id: lane, occasion, ended: true });
      else await outages.updateOne({ _id: lane, occasion, ...notEnded }, { $unset: { owed: '' } });
    },
  };
}

function toOutage({ _id, occasion, sinceMs, forMs, told, ended, owed = [] }: OutageDocument): Outage {
  const states = { told: told === true, ended: ended === true };
  return { lane: _id, occasion, sinceMs, forMs, ...states, owed };
}

/** Deliveries that were given up bear the mark `untold` until a notice tells of them. */
export function createDeathStore(store: Store, clock: Clock): DeathStore {
  const deliveries = store.collection<DeliveryDocument>(deliveriesCollection);
  const deaths = store.collection<DeathsDocument>(deathsCollection);

  return {
    async next(after) {
      const [found] = await deliveries
        .find(
          { untold: true, applicationId: { $gt: after } },
          { sort: { applicationId: 1 }, limit: 1, projection: { applicationId: 1 } },
        )
        .toArray();
      return found?.applicationId;
    },
    async stateOf(applicationId) {
      const found = await deaths.findOne({ _id: applicationId });
      return { number: found?.number ?? 0, telling: found?.telling };
    },
    async untold(applicationId, limit) {
      const found = await deliveries
        .find(
          { untold: true, applicationId, status: 'dead' },
          { sort: { dueAtMs: 1 }, limit, projection: { createdAtMs: 1, destination: 1 } },
        )
        .toArray();
      return found.map(({ _id, createdAtMs, destination }) => ({ id: _id, createdAtMs, destination }));
    },
    async tell(applicationId, number, { ids, notice }) {
      const telling = { ids: [...ids], notice };
      const expireAt = new Date(clock.now() + numberKeptMs);
      if (number === 0) {
        try {
          await deaths.insertOne({ _id: applicationId, number, telling, expireAt });
          return true;
        } catch (error) {
          if (isDuplicateKey(error)) return false;
          throw error;
        }
      }
      const { matchedCount } = await deaths.updateOne(
        { _id: applicationId, number, telling: { $exists: false } },
        { $set: { telling, expireAt } },
      );
      return matchedCount === 1;
    },
    async unmark(ids) {
      await deliveries.updateMany({ _id: { $in: [...ids] } }, { $unset: { untold: '' } });
    },
    async settle(applicationId, number) {
      await deaths.updateOne(
        { _id: applicationId, number, telling: { $exists: true } },
        { $unset: { telling: '' }, $inc: { number: 1 } },
      );
    },
  };
}
