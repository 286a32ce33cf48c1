import type { StoreCollection } from '@headset-cloud/store/types.ts';
import type { ChannelStore } from '../ports/channel-store.ts';
import type { ChannelDocument } from './documents.ts';

/** `keepMs`: how long a channel is kept after its last event. */
export function createChannelStore(channels: StoreCollection<ChannelDocument>, keepMs: number): ChannelStore {
  return {
    async get(channelId) {
      const found = await channels.findOne({ _id: channelId });
      if (!found) return undefined;
      const { applicationId, endpointId, endpointUrl } = found;
      return { channelId, applicationId, endpointId, endpointUrl };
    },

    async insert(wanted, nowMs) {
      const operations = wanted.map(({ channelId, ...channel }) => ({
        updateOne: {
          filter: { _id: channelId },
          update: {
            $setOnInsert: {
              ...channel,
              eventSeq: 0,
              createdAt: new Date(nowMs),
              expiresAt: new Date(nowMs + keepMs),
            },
          },
          upsert: true,
        },
      }));
      const { upsertedIds } = await channels.bulkWrite(operations, { ordered: false });
      const inserted = new Set(Object.values(upsertedIds).map(String));
      return new Set(wanted.map(({ channelId }) => channelId).filter((id) => !inserted.has(id)));
    },

    async nextEvent(channelId, endpointId, nowMs) {
      const found = await channels.findOneAndUpdate(
        { _id: channelId, endpointId },
        { $inc: { eventSeq: 1 }, $set: { expiresAt: new Date(nowMs + keepMs) } },
        { returnDocument: 'after', projection: { eventSeq: 1, applicationId: 1, createdAt: 1 } },
      );
      if (!found) return undefined;
      const { eventSeq: seq, applicationId, createdAt } = found;
      return { seq, applicationId, createdAtMs: createdAt.getTime() };
    },
  };
}
