import { batchPerTurn } from '@headset-cloud/runtime/batching/per-turn.ts';
import { type Clock, monotonicMs } from '@headset-cloud/runtime/clock.ts';
import { isDuplicateKey } from '@headset-cloud/runtime/errors.ts';
import type { IndexDescription } from '@headset-cloud/store/operations.ts';
import type { Store } from '@headset-cloud/store/types.ts';
import type { EndedSession, Holder, Instance, Leases, Registration, SessionDirectory } from '../ports.ts';
import { awayDuringSession, type EndedFields, endedSessionIndexes } from './ended-sessions.ts';
import { leaseIndexes } from './leases.ts';

interface SessionDocument extends EndedFields {
  /** Device id (IMEI). */
  _id: string;
  /**
   * Number of the headset's sessions so far. Never falls, so that the document is never deleted. The session epoch is
   * this number plus `epochsAbove`.
   */
  epoch: number;
  /** The instance with the session; absent without a session. */
  instanceId?: string;
  since?: Date;
  /** Highest acknowledged report id at the end of the last session. The log may contain later reports. */
  ackedReportId?: number;
  /** The last session was closed because the headset did not answer. */
  unresponsive?: true;
}

/** Indexes of step 1 (steps.ts). */
export const directoryIndexes: Readonly<Record<string, IndexDescription[]>> = {
  ...endedSessionIndexes,
  ...leaseIndexes,
};

/**
 * The directory in the service's database: the collection `sessions`, with a document for each headset. `epochsAbove`
 * returns the number that is added to a stored `epoch` to get the session epoch; above 0 after a restore (ADR 0035).
 */
export function createSessionDirectory(
  store: Store,
  clock: Clock,
  self: Instance,
  leases: Pick<Leases, 'live'>,
  epochsAbove: () => number = () => 0,
): SessionDirectory {
  const sessions = store.collection<SessionDocument>('sessions');

  async function register(deviceId: string): Promise<Registration> {
    for (let attempt = 1; ; attempt += 1) {
      try {
        const before = await sessions.findOneAndUpdate(
          { _id: deviceId },
          {
            $inc: { epoch: 1 },
            $set: { instanceId: self.instanceId, since: new Date(clock.now()), away: awayDuringSession },
            $unset: { unresponsive: true, endedOn: true, awayFromMs: true, endedAtMs: true },
          },
          { upsert: true, returnDocument: 'before' },
        );
        return {
          epoch: (before?.epoch ?? 0) + 1 + epochsAbove(),
          ackedReportId: before?.ackedReportId ?? 0,
          earlierInstanceId: before?.instanceId,
          afterUnresponsive: before?.unresponsive ?? false,
        };
      } catch (error) {
        // The headset had no document, and another registration inserted the document at the same time. Tries again.
        if (!isDuplicateKey(error) || attempt === 3) throw error;
      }
    }
  }

  async function release(ended: readonly EndedSession[]): Promise<void> {
    for (let i = 0; i < ended.length; i += 1000) {
      await sessions.bulkWrite(
        ended.slice(i, i + 1000).map(({ deviceId, epoch, ackedReportId, unresponsive }) => ({
          updateOne: {
            filter: { _id: deviceId, epoch: epoch - epochsAbove(), instanceId: self.instanceId },
            update: {
              $unset: { instanceId: '', since: '', away: '' },
              $set: {
                endedOn: self.instanceId,
                awayFromMs: monotonicMs(clock),
                endedAtMs: clock.now(),
                ...(unresponsive && { unresponsive }),
              },
              ...(ackedReportId > 0 && { $max: { ackedReportId } }),
            },
          },
        })),
        { ordered: false },
      );
    }
  }

  async function holders(deviceIds: readonly string[]): Promise<Map<string, Holder>> {
    const found = await sessions
      .find({ _id: { $in: [...deviceIds] } }, { projection: { epoch: 1, instanceId: 1 } })
      .toArray();
    const registered = found.flatMap((s) =>
      s.instanceId ? [{ deviceId: s._id, epoch: s.epoch + epochsAbove(), instanceId: s.instanceId }] : [],
    );
    const live = await leases.live(new Set(registered.map((s) => s.instanceId)));
    const holders = new Map<string, Holder>();
    for (const { deviceId, epoch, instanceId } of registered) {
      const address = live.get(instanceId);
      if (address !== undefined) holders.set(deviceId, { epoch, instanceId, address });
    }
    return holders;
  }

  return {
    instanceId: self.instanceId,
    register,
    release,
    holders,
    holder: batchPerTurn<string, Holder | undefined>({
      async run(deviceIds) {
        const found = await holders(deviceIds);
        return deviceIds.map((id) => ({ value: found.get(id) }));
      },
    }),
    addressOf: async (instanceId) => (await leases.live(new Set([instanceId]))).get(instanceId),
  };
}
