import type { IndexDescription } from '@headset-cloud/store/operations.ts';
import type { Store } from '@headset-cloud/store/types.ts';
import type { EndedSessions, UnreportedEnd } from '../ports.ts';

/** Fields of a `sessions` document whose session has ended, beside those of the directory. */
export interface EndedFields {
  /** The instance that counts the time without a session; absent during a session, and after the end was published. */
  endedOn?: string;
  /** Start of the counted time, by the monotonic clock of that instance; milliseconds. */
  awayFromMs?: number;
  /** When the session ended, or its instance was found dead; milliseconds since 1970. */
  endedAtMs?: number;
  /**
   * Written and read by release 0.1.0, which may run beside this one: `held` with a session, below 0 when it has
   * ended, above 0 while that release counts.
   */
  away?: number;
}

interface SessionDocument extends EndedFields {
  /** Device id (IMEI). */
  _id: string;
  epoch: number;
  instanceId?: string;
  since?: Date;
}

/** `away` of a document that has a session. */
export const held = 0;

/** Made by step 1 (steps.ts), beside the directory's; `offlineCount` is release 0.1.0's. */
export const endedSessionIndexes: Readonly<Record<string, IndexDescription[]>> = {
  sessions: [
    { key: { away: 1 }, name: 'away', sparse: true },
    // The instances that hold sessions, and the sessions of one.
    { key: { instanceId: 1, away: 1 }, name: 'holder', sparse: true },
  ],
  offlineCount: [],
};

/** Made by step 2. */
export const endedIndexes: Readonly<Record<string, IndexDescription[]>> = {
  sessions: [{ key: { endedOn: 1, awayFromMs: 1 }, name: 'ended', sparse: true }],
};

/** The port on the service's database; `epochsAbove` as in the session directory. */
export function createEndedSessions(
  store: Store,
  instanceId: string,
  epochsAbove: () => number = () => 0,
): EndedSessions {
  const sessions = store.collection<SessionDocument>('sessions');

  async function valuesOf(field: 'instanceId' | 'endedOn'): Promise<string[]> {
    const found: string[] = [];
    for (;;) {
      const next = await sessions.findOne(
        { [field]: { $gt: found.at(-1) ?? '' } },
        { sort: { [field]: 1 }, projection: { [field]: 1 } },
      );
      const value = next?.[field];
      if (value === undefined) return found;
      found.push(value);
    }
  }

  return {
    async owners() {
      return [...new Set([...(await valuesOf('instanceId')), ...(await valuesOf('endedOn'))])];
    },
    async takeOver(owner, { sinceMs, endedAtMs }) {
      const from = { endedOn: instanceId, awayFromMs: sinceMs };
      await sessions.updateMany({ endedOn: owner }, { $set: from });
      const { modifiedCount } = await sessions.updateMany(
        { instanceId: owner },
        { $set: { ...from, endedAtMs }, $unset: { instanceId: '', since: '', away: '' } },
      );
      return modifiedCount;
    },
    async takeOverUnowned(nowMs) {
      const update = { $set: { endedOn: instanceId, awayFromMs: nowMs }, $unset: { away: '' } } as const;
      await sessions.updateMany({ away: { $lt: held } }, update);
      // A document with an instance may have an open session, which release 0.1.0 reclaims.
      await sessions.updateMany({ away: { $gt: held }, instanceId: { $exists: false } }, update);
    },
    async endedBefore(owner, beforeMs, limit) {
      const filter = { endedOn: owner, awayFromMs: { $lte: beforeMs } };
      const found = await sessions.find(filter, { limit }).toArray();
      return found.map(({ _id, epoch, endedAtMs }) => ({
        ...{ deviceId: _id, epoch: epoch + epochsAbove(), endedAtMs: endedAtMs ?? 0 },
      }));
    },
    async reported(ends: readonly UnreportedEnd[]) {
      await sessions.bulkWrite(
        ends.map(({ deviceId, epoch }) => ({
          updateOne: {
            // If a session has begun meanwhile, it continues.
            filter: { _id: deviceId, epoch: epoch - epochsAbove(), endedOn: instanceId },
            update: { $unset: { endedOn: '', awayFromMs: '', endedAtMs: '' } },
          },
        })),
        { ordered: false },
      );
    },
  };
}
