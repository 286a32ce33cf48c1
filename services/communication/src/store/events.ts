import { isDuplicateKey } from '@headset-cloud/runtime/errors.ts';
import type { StoreCollection } from '@headset-cloud/store/types.ts';
import type { WithId } from 'mongodb';
import type { EventStore, StoredEvent } from '../ports/event-store.ts';
import type { EventDocument } from './documents.ts';

/** `keepMs`: how long an event is kept and its repeats are recognized. */
export function createEventStore(events: StoreCollection<EventDocument>, keepMs: number): EventStore {
  return {
    async known(key) {
      return (await events.findOne({ _id: key }, { projection: { _id: 1 } })) !== null;
    },

    async insert({ key, traceparent, ...event }, dueAtMs) {
      try {
        await events.insertOne({
          _id: key,
          ...event,
          ...(traceparent && { traceparent }),
          ...(dueAtMs !== undefined && { dueAtMs }),
          expiresAt: new Date(event.arrivedAtMs + keepMs),
        });
        return true;
      } catch (error) {
        if (isDuplicateKey(error)) return false;
        throw error;
      }
    },

    async done(key) {
      await events.updateOne({ _id: key }, { $unset: { dueAtMs: '' } });
    },

    async undoneBefore(channelId, seq, fromSeq = 0) {
      const filter = { channelId, seq: { $gte: fromSeq, $lt: seq }, dueAtMs: { $exists: true } };
      const found = await events.find(filter, { sort: { seq: 1 } }).toArray();
      return found.map(eventOf);
    },

    async claimDue(nowMs, untilMs, limit) {
      const due = await events.find({ dueAtMs: { $lte: nowMs } }, { sort: { dueAtMs: 1 }, limit }).toArray();
      const claimed: StoredEvent[] = [];
      for (const document of due) {
        const { _id, dueAtMs } = document;
        if (dueAtMs === undefined) continue;
        const { matchedCount } = await events.updateOne({ _id, dueAtMs }, { $set: { dueAtMs: untilMs } });
        if (matchedCount === 1) claimed.push(eventOf(document));
      }
      return claimed.sort((a, b) => a.seq - b.seq);
    },

    async resetFutureDueTimes(latestMs, nowMs) {
      await events.updateMany({ dueAtMs: { $gt: latestMs } }, { $set: { dueAtMs: nowMs } });
    },
  };
}

function eventOf(document: WithId<EventDocument>): StoredEvent {
  const { _id, dueAtMs: _due, expiresAt: _expires, traceparent = '', ...event } = document;
  return { key: _id, traceparent, ...event };
}
