import type { Update } from '@headset-cloud/store/operations.ts';
import type { StoreCollection } from '@headset-cloud/store/types.ts';
import type { Connection, ConnectionStore, SilentPart } from '../ports/connection-store.ts';
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

    async recordEvent(connectionId, { channelId, createdAtMs, destroyed, alive }, nowMs) {
      const update: Update<ConnectionDocument> = {
        $set: {
          ...{ channelId, expiresAt: new Date(nowMs + keepMs) },
          ...(destroyed && { destroyed: true }),
          ...(alive && !destroyed && { silentAtMs: alive.silentAtMs }),
        },
        ...(createdAtMs !== undefined && { $min: { createdAtMs } }),
        ...(alive && { $max: { lastAtMs: alive.atMs } }),
      };
      const noted = await connections.findOneAndUpdate({ _id: connectionId }, update, {
        upsert: true,
        returnDocument: 'after',
      });
      return connectionOf(noted ?? { channelId, expiresAt: new Date(nowMs) });
    },

    async claimSilent(nowMs, untilMs, limit) {
      const silent = await connections
        .find({ silentAtMs: { $lte: nowMs } }, { sort: { silentAtMs: 1 }, limit })
        .toArray();
      const parts: SilentPart[] = [];
      for (const { _id, silentAtMs, billing, billedToMs, createdAtMs, lastAtMs = 0, destroyed } of silent) {
        const fromMs = billedToMs ?? createdAtMs;
        const part = billing ?? (fromMs !== undefined && lastAtMs > fromMs && { fromMs, toMs: lastAtMs });
        // A 'destroyed' event bills the connection itself, unless a part was claimed before the event.
        if (!part || (destroyed && !billing)) {
          await connections.updateOne(
            { _id, silentAtMs: silentAtMs as number },
            { $unset: { silentAtMs: true } },
          );
          continue;
        }
        const claimed = await connections.findOneAndUpdate(
          { _id, silentAtMs: silentAtMs as number, ...(!billing && { destroyed: { $exists: false } }) },
          { $set: { silentAtMs: untilMs, billing: part } },
          { returnDocument: 'after' },
        );
        if (!claimed) continue;
        const { channelId, deviceId = null } = claimed;
        parts.push({
          ...{ connectionId: _id, channelId, deviceId, ...part },
          isFirst: billedToMs === undefined,
        });
      }
      return parts;
    },
    async billed({ connectionId, fromMs, toMs }) {
      // `silentAtMs` stays: if no event has arrived since, the next `claimSilent` removes it. Otherwise the
      // connection is billed further.
      await connections.updateOne(
        { _id: connectionId, 'billing.fromMs': fromMs },
        { $set: { billedToMs: toMs }, $unset: { billing: true } },
      );
    },

    async decideDevice(connectionId, deviceId) {
      await connections.updateOne(
        { _id: connectionId, deviceId: { $exists: false } },
        { $set: { deviceId } },
      );
      return (await connections.findOne({ _id: connectionId }))?.deviceId ?? null;
    },
  };
}

function connectionOf(document: Omit<ConnectionDocument, '_id'>): Connection {
  const { createdAtMs, destroyed = false, deviceId, billing, billedToMs } = document;
  return { createdAtMs, destroyed, deviceId, billedToMs: billing?.toMs ?? billedToMs };
}
