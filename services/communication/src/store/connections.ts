import type { Update } from '@headset-cloud/kit/store/operations.ts';
import type { StoreCollection } from '@headset-cloud/kit/store/types.ts';
import type { Connection, ConnectionStore } from '../ports.ts';
import type { ConnectionDocument } from './documents.ts';

export function createConnectionStore(
  connections: StoreCollection<ConnectionDocument>,
  keepMs: number,
): ConnectionStore {
  return {
    async get(connectionId) {
      const found = await connections.findOne({ _id: connectionId });
      return found ? connectionOf(found) : undefined;
    },

    async devices(connectionIds) {
      if (connectionIds.length === 0) return [];
      const found = await connections.find({ _id: { $in: [...connectionIds] } }).toArray();
      return found.flatMap(({ deviceId }) => deviceId ?? []);
    },

    async note(connectionId, { channelId, createdAtMs, destroyed }, nowMs) {
      const update: Update<ConnectionDocument> = {
        $set: { channelId, expiresAt: new Date(nowMs + keepMs), ...(destroyed && { destroyed: true }) },
        ...(createdAtMs !== undefined && { $min: { createdAtMs } }),
      };
      const noted = await connections.findOneAndUpdate({ _id: connectionId }, update, {
        upsert: true,
        returnDocument: 'after',
      });
      return connectionOf(noted ?? { channelId, expiresAt: new Date(nowMs) });
    },

    async judge(connectionId, deviceId) {
      await connections.updateOne(
        { _id: connectionId, deviceId: { $exists: false } },
        { $set: { deviceId } },
      );
      return (await connections.findOne({ _id: connectionId }))?.deviceId ?? null;
    },
  };
}

function connectionOf({ createdAtMs, destroyed, deviceId }: Omit<ConnectionDocument, '_id'>): Connection {
  return { createdAtMs, destroyed: destroyed ?? false, deviceId };
}
