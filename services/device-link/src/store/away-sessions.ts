import { isDuplicateKey } from '@headset-cloud/kit/errors.ts';
import type { IndexDescription } from '@headset-cloud/kit/store/operations.ts';
import type { Store } from '@headset-cloud/kit/store/types.ts';
import type { AwaySession, AwaySessions, WatchCount } from '../ports.ts';

/** What `sessions` documents say of a headset that is away, beside what the directory keeps of them. */
interface AwayFields {
  /** Device id (IMEI). */
  _id: string;
  epoch: number;
  instanceId?: string;
  since?: Date;
  /**
   * `held`: a session; `ended`: it is over, not counted yet; above: away since that count. Absent: the
   * platform knows that it is offline.
   */
  away?: number;
  /** When the session ended or its instance was found dead; milliseconds since 1970. */
  endedAtMs?: number;
}

interface CountDocument {
  _id: string;
  count: number;
  from: number;
}

/** What a session's document says of it while it is held, and when it has just ended. */
export const away = { held: 0, ended: -1 } as const;

const countId = 'offline';
const collection = 'offlineCount';

/** Made by step 1 (steps.ts), beside the directory's. */
export const awayIndexes: Readonly<Record<string, IndexDescription[]>> = {
  sessions: [
    { key: { away: 1 }, name: 'away', sparse: true },
    // The instances that hold sessions, and the sessions of one.
    { key: { instanceId: 1, away: 1 }, name: 'holder', sparse: true },
  ],
  [collection]: [],
};

/** The port on the service's database; `epochsAbove` as in the session directory. */
export function createAwaySessions(store: Store, epochsAbove: () => number = () => 0): AwaySessions {
  const sessions = store.collection<AwayFields>('sessions');
  const counts = store.collection<CountDocument>(collection);

  const asCount = ({ count, from }: CountDocument): WatchCount => ({ count, from });

  return {
    async count() {
      const found = await counts.findOne({ _id: countId });
      if (found) return asCount(found);
      try {
        await counts.insertOne({ _id: countId, count: 1, from: 1 });
      } catch (error) {
        if (!isDuplicateKey(error)) throw error;
      }
      return { count: 1, from: 1 };
    },
    async advance(count, anew) {
      const next = count + 1;
      const after = await counts.findOneAndUpdate(
        { _id: countId, count },
        { $set: { count: next }, ...(anew && { $max: { from: next } }) },
        { returnDocument: 'after' },
      );
      return after ? asCount(after) : undefined;
    },
    async beginAnew(from) {
      await counts.updateOne({ _id: countId }, { $max: { from } });
    },
    async noteEnded(count) {
      await sessions.updateMany({ away: away.ended }, { $set: { away: count } });
    },
    async holders() {
      const found: string[] = [];
      for (;;) {
        const next = await sessions.findOne(
          { instanceId: { $gt: found.at(-1) ?? '' } },
          { sort: { instanceId: 1 }, projection: { instanceId: 1 } },
        );
        if (next?.instanceId === undefined) return found;
        found.push(next.instanceId);
      }
    },
    async noteDead(instanceId, count, nowMs) {
      const { modifiedCount } = await sessions.updateMany(
        { instanceId, away: away.held },
        { $set: { away: count, endedAtMs: nowMs } },
      );
      return modifiedCount;
    },
    async reclaim(instanceId) {
      await sessions.updateMany({ instanceId, away: { $gt: 0 } }, { $set: { away: away.held } });
    },
    async awaySince(count, limit) {
      const found = await sessions.find({ away: { $gt: 0, $lte: count } }, { limit }).toArray();
      return found.map(({ _id, epoch, away: since, endedAtMs }) => ({
        ...{ deviceId: _id, epoch: epoch + epochsAbove(), since: since ?? 0, endedAtMs: endedAtMs ?? 0 },
      }));
    },
    async toldOffline(told: readonly AwaySession[]) {
      await sessions.bulkWrite(
        told.map(({ deviceId, epoch, since }) => ({
          updateOne: {
            // Where a session has begun meanwhile, it goes on.
            filter: { _id: deviceId, epoch: epoch - epochsAbove(), away: since },
            update: { $unset: { away: '', instanceId: '', since: '', endedAtMs: '' } },
          },
        })),
        { ordered: false },
      );
    },
  };
}
