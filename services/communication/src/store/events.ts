import { isDuplicateKey } from '@headset-cloud/kit/errors.ts';
import type { StoreCollection } from '@headset-cloud/kit/store/types.ts';
import type { EventStore, StoredEvent } from '../ports.ts';
import type { EventDocument } from './documents.ts';

/** `keepMs`: how long an event, and with it the knowledge that it has come, is kept. */
export function createEventStore(events: StoreCollection<EventDocument>, keepMs: number): EventStore {
  return {
    async known(key) {
      return (await events.findOne({ _id: key }, { projection: { _id: 1 } })) !== null;
    },

    async insert({ key, ...event }, dueAtMs) {
      try {
        await events.insertOne({
          _id: key,
          ...event,
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

    async undoneBefore(channelId, seq) {
      const filter = { channelId, seq: { $lt: seq }, dueAtMs: { $exists: true } };
      const found = await events.find(filter, { sort: { seq: 1 } }).toArray();
      return found.map(({ _id, dueAtMs: _, expiresAt: __, ...event }) => ({ key: _id, ...event }));
    },

    async claimDue(nowMs, untilMs, limit) {
      const due = await events.find({ dueAtMs: { $lte: nowMs } }, { sort: { dueAtMs: 1 }, limit }).toArray();
      const claimed: StoredEvent[] = [];
      for (const { _id, dueAtMs, expiresAt: _, ...event } of due) {
        if (dueAtMs === undefined) continue;
        const { matchedCount } = await events.updateOne({ _id, dueAtMs }, { $set: { dueAtMs: untilMs } });
        if (matchedCount === 1) claimed.push({ key: _id, ...event });
      }
      return claimed.sort((a, b) => a.seq - b.seq);
    },
  };
}
