import type { IndexDescription } from '@headset-cloud/store/operations.ts';
import type { Store } from '@headset-cloud/store/types.ts';
import type { EndedSessions, UnreportedEnd } from '../ports.ts';

/** Fields of a `sessions` document whose session has ended, beside those of the directory. */
export interface EndedFields {
  /**
   * The instance that measures the time without a session; absent during a session, and after the end was published. At
   * first the instance on which the session ended.
   */
  endedOn?: string;
  /** Start of the measured time, by the monotonic clock of the instance `endedOn`; milliseconds. */
  awayFromMs?: number;
  /** When the session ended, or its instance was found dead; milliseconds since 1970. */
  endedAtMs?: number;
  /**
   * Written and read by release 0.1.0, which may run at the same time: `awayDuringSession` during a session, negative
   * after its end, positive while an instance of release 0.1.0 measures the time.
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

/** Value of `away` during a session. */
export const awayDuringSession = 0;

/** Indexes of step 1 (steps.ts). The collection `offlineCount` is used only by release 0.1.0. */
export const endedSessionIndexes: Readonly<Record<string, IndexDescription[]>> = {
  sessions: [
    { key: { away: 1 }, name: 'away', sparse: true },
    // Finds the instances that hold sessions, and the sessions of one instance.
    { key: { instanceId: 1, away: 1 }, name: 'holder', sparse: true },
  ],
  offlineCount: [],
};

/** Indexes of step 2 (steps.ts). */
export const endedIndexes: Readonly<Record<string, IndexDescription[]>> = {
  sessions: [{ key: { endedOn: 1, awayFromMs: 1 }, name: 'ended', sparse: true }],
};

/** The ended sessions in the service's database. `epochsAbove`: see `createSessionDirectory`. */
export function createEndedSessions(
  store: Store,
  instanceId: string,
  epochsAbove: () => number = () => 0,
): EndedSessions {
  const sessions = store.collection<SessionDocument>('sessions');

  /** Returns the distinct values of a field, with one read of the index for each value. */
  async function distinctValues(field: 'instanceId' | 'endedOn'): Promise<string[]> {
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
      return [...new Set([...(await distinctValues('instanceId')), ...(await distinctValues('endedOn'))])];
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
      await sessions.updateMany({ away: { $lt: awayDuringSession } }, update);
      // Excludes documents with an instance: their session may be open, and release 0.1.0 takes it over again.
      await sessions.updateMany({ away: { $gt: awayDuringSession }, instanceId: { $exists: false } }, update);
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
            // The filter does not match if a new session has begun in the meantime.
            filter: { _id: deviceId, epoch: epoch - epochsAbove(), endedOn: instanceId },
            update: { $unset: { endedOn: '', awayFromMs: '', endedAtMs: '' } },
          },
        })),
        { ordered: false },
      );
    },
  };
}
