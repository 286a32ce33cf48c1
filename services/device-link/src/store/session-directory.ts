import type { Clock } from '@headset-cloud/kit/clock.ts';
import { isDuplicateKey } from '@headset-cloud/kit/errors.ts';
import { batchPerTurn } from '@headset-cloud/kit/per-turn.ts';
import type { Store } from '@headset-cloud/kit/store/types.ts';
import type { IndexDescription } from 'mongodb';
import type { EndedSession, Holder, Registration, SessionDirectory } from '../ports.ts';
import { away, awayIndexes } from './away-sessions.ts';

/** How long an instance's sessions count without a sign of life, and how often it gives one; milliseconds. */
export const leaseMs = 15_000;
export const renewEveryMs = 5_000;

/** How long another instance's lease is taken from memory; milliseconds. */
const instanceCacheMs = 1_000;
/** Dead instances are forgotten after this; milliseconds. */
const forgetInstanceAfterMs = 3_600_000;

interface SessionDocument {
  /** Device id (IMEI). */
  _id: string;
  /** Counts the headset's sessions; never falls, so the document outlives them. */
  epoch: number;
  /** The holder; absent when the headset is away. */
  instanceId?: string;
  since?: Date;
  /** Written when a session ends; what is reported after that may be durable as well. */
  ackedReportId?: number;
  /** For the watch over headsets that are away (away-sessions.ts). */
  away?: number;
  endedAtMs?: number;
}

interface InstanceDocument {
  _id: string;
  address: string;
  expiresAt: Date;
}

/** Created at start. */
export const directoryIndexes: Readonly<Record<string, IndexDescription[]>> = {
  ...awayIndexes,
  instances: [{ key: { expiresAt: 1 }, name: 'expiresAt' }],
};

/**
 * The directory in the service's database: `sessions` (a document for each headset) and `instances`
 * (a document for each lease). `address` is empty when this is the only instance.
 */
export function createSessionDirectory(
  store: Store,
  clock: Clock,
  self: { readonly instanceId: string; readonly address: () => string },
): SessionDirectory {
  const sessions = store.collection<SessionDocument>('sessions');
  const instances = store.collection<InstanceDocument>('instances');
  const cache = new Map<string, { readAtMs: number; address: string; expiresAtMs: number }>();
  let leaseEndsAtMs = 0;
  let begun = false;

  async function register(deviceId: string): Promise<Registration> {
    for (let attempt = 1; ; attempt += 1) {
      try {
        const before = await sessions.findOneAndUpdate(
          { _id: deviceId },
          {
            $inc: { epoch: 1 },
            $set: { instanceId: self.instanceId, since: new Date(clock.now()), away: away.held },
          },
          { upsert: true, returnDocument: 'before' },
        );
        return {
          epoch: (before?.epoch ?? 0) + 1,
          ackedReportId: before?.ackedReportId ?? 0,
          earlierInstanceId: before?.instanceId,
        };
      } catch (error) {
        // Two first sessions of a headset at the same time: the loser's upsert meets the winner's document.
        if (!isDuplicateKey(error) || attempt === 3) throw error;
      }
    }
  }

  async function release(ended: readonly EndedSession[]): Promise<void> {
    for (let i = 0; i < ended.length; i += 1000) {
      await sessions.bulkWrite(
        ended.slice(i, i + 1000).map(({ deviceId, epoch, ackedReportId }) => ({
          updateOne: {
            filter: { _id: deviceId, epoch, instanceId: self.instanceId },
            update: {
              $unset: { instanceId: '', since: '' },
              $set: { away: away.ended, endedAtMs: clock.now() },
              ...(ackedReportId > 0 && { $max: { ackedReportId } }),
            },
          },
        })),
        { ordered: false },
      );
    }
  }

  /** Reads the leases that are not known from the last second, in one query. */
  async function liveInstances(ids: ReadonlySet<string>): Promise<Map<string, string>> {
    const now = clock.now();
    const unknown = [...ids].filter((id) => !((cache.get(id)?.readAtMs ?? -1) > now - instanceCacheMs));
    if (unknown.length > 0) {
      const found = await instances.find({ _id: { $in: unknown } }).toArray();
      for (const id of unknown) cache.delete(id);
      for (const { _id, address, expiresAt } of found) {
        cache.set(_id, { readAtMs: now, address, expiresAtMs: expiresAt.getTime() });
      }
    }
    const live = new Map<string, string>();
    for (const id of ids) {
      const lease = cache.get(id);
      if (lease && lease.expiresAtMs > now) live.set(id, lease.address);
    }
    return live;
  }

  async function holders(deviceIds: readonly string[]): Promise<Map<string, Holder>> {
    const found = await sessions
      .find({ _id: { $in: [...deviceIds] } }, { projection: { epoch: 1, instanceId: 1 } })
      .toArray();
    const held = found.flatMap((s) =>
      s.instanceId ? [{ deviceId: s._id, epoch: s.epoch, instanceId: s.instanceId }] : [],
    );
    const live = await liveInstances(new Set(held.map((s) => s.instanceId)));
    const holders = new Map<string, Holder>();
    for (const { deviceId, epoch, instanceId } of held) {
      const address = live.get(instanceId);
      if (address !== undefined) holders.set(deviceId, { epoch, instanceId, address });
    }
    return holders;
  }

  return {
    register,
    release,
    holders,
    holder: batchPerTurn<string, Holder | undefined>({
      async run(deviceIds) {
        const found = await holders(deviceIds);
        return deviceIds.map((id) => ({ value: found.get(id) }));
      },
    }),
    addressOf: async (instanceId) => (await liveInstances(new Set([instanceId]))).get(instanceId),
    leaseAlive: () => leaseEndsAtMs > clock.now(),
    async renewLease() {
      const endsAtMs = clock.now() + leaseMs;
      const address = self.address();
      if (!begun) {
        // Whoever had this address before is dead, since the address is now ours: its sessions must
        // not count until its lease runs out.
        await instances.deleteMany({ address, _id: { $ne: self.instanceId } });
        begun = true;
      }
      await instances.updateOne(
        { _id: self.instanceId },
        { $set: { address, expiresAt: new Date(endsAtMs) } },
        { upsert: true },
      );
      leaseEndsAtMs = endsAtMs;
      await instances.deleteMany({ expiresAt: { $lt: new Date(clock.now() - forgetInstanceAfterMs) } });
      for (const [id, lease] of cache) if (lease.expiresAtMs < clock.now()) cache.delete(id);
    },
    async endLease() {
      leaseEndsAtMs = 0;
      await instances.deleteOne({ _id: self.instanceId });
    },
  };
}
