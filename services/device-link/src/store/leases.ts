import { type Clock, monotonicMs } from '@headset-cloud/runtime/clock.ts';
import type { Logger } from '@headset-cloud/runtime/logger.ts';
import type { IndexDescription } from '@headset-cloud/store/operations.ts';
import type { Store } from '@headset-cloud/store/types.ts';
import type { Instance, Leases } from '../ports.ts';

/** How long the leases of other instances are cached in memory; milliseconds. */
const cacheMs = 1_000;
/** Age at which the lease of a dead instance is deleted; milliseconds. */
const forgetAfterMs = 3_600_000;

export const instancesCollection = 'instances';

export interface InstanceDocument {
  _id: string;
  /** Address for the other instances; empty if the instance advertises none. */
  address: string;
  /** Incremented with each renewal. */
  beat: number;
  /** Expiry by the clock of the instance. Other instances use it only for the first read of this lease. */
  expiresAt: Date;
}

interface Seen {
  address: string;
  beat: number;
  /** When the instance was last seen alive, by the monotonic clock; absent: never. */
  aliveAtMs?: number;
  readonly firstSeenAtMs: number;
}

export const leaseIndexes: Readonly<Record<string, IndexDescription[]>> = { [instancesCollection]: [] };

export function createLeases(
  store: Store,
  clock: Clock,
  self: Instance & { readonly leaseMs: number; readonly logger: Logger },
): Leases {
  const instances = store.collection<InstanceDocument>(instancesCollection);
  const seen = new Map<string, Seen>();
  let readAtMs = Number.NEGATIVE_INFINITY;
  let endsAtMs = Number.NEGATIVE_INFINITY;
  let unbrokenSinceMs = Number.POSITIVE_INFINITY;
  const monotonic = () => monotonicMs(clock);
  /** Writes of renewals that are not stored yet. */
  const renewing = new Set<Promise<unknown>>();

  /** Reads the leases of all instances, which are few. */
  async function readLeases(): Promise<void> {
    const documents = await instances.find({}).toArray();
    const now = monotonic();
    for (const { _id, address, beat, expiresAt } of documents) {
      const known = seen.get(_id);
      if (!known) {
        // Without an earlier beat to compare with, the expiry by the instance's own clock decides.
        const isUnexpired = expiresAt.getTime() > clock.now();
        seen.set(_id, { address, beat, firstSeenAtMs: now, ...(isUnexpired && { aliveAtMs: now }) });
      } else if (known.beat !== beat) {
        seen.set(_id, { ...known, address, beat, aliveAtMs: now });
      }
    }
    const stored = new Set(documents.map((d) => d._id));
    for (const id of seen.keys()) if (!stored.has(id)) seen.delete(id);
    readAtMs = now;
  }

  return {
    async renew() {
      const begun = monotonic();
      const write = instances.updateOne(
        { _id: self.instanceId },
        {
          $set: { address: self.address(), expiresAt: new Date(clock.now() + self.leaseMs) },
          $inc: { beat: 1 },
        },
        { upsert: true },
      );
      renewing.add(write);
      await write.finally(() => renewing.delete(write));
      const storedMs = monotonic();
      const lapsed = endsAtMs <= storedMs;
      if (lapsed) unbrokenSinceMs = storedMs;
      // After a stall of the store, two renewals can run at the same time. The later expiry is the valid one.
      endsAtMs = Math.max(endsAtMs, begun + self.leaseMs);
      await readLeases();
      for (const [id, { beat, aliveAtMs, firstSeenAtMs }] of seen) {
        if (id === self.instanceId || begun - (aliveAtMs ?? firstSeenAtMs) < forgetAfterMs) continue;
        await instances.deleteOne({ _id: id, beat });
        seen.delete(id);
      }
      return { lapsed };
    },
    async end() {
      endsAtMs = Number.NEGATIVE_INFINITY;
      // A renewal that is stored later would create the lease again.
      await Promise.allSettled(renewing);
      await instances.deleteOne({ _id: self.instanceId });
    },
    alive: () => endsAtMs > monotonic(),
    unbrokenSinceMs: () => (endsAtMs > monotonic() ? unbrokenSinceMs : Number.POSITIVE_INFINITY),
    async live(ids) {
      const others = [...ids].filter((id) => id !== self.instanceId);
      const unknown = others.some((id) => !seen.has(id));
      if (others.length > 0 && (unknown || monotonic() - readAtMs > cacheMs)) await readLeases();
      const now = monotonic();
      const live = new Map<string, string>();
      for (const id of ids) {
        if (id === self.instanceId) {
          live.set(id, self.address());
          continue;
        }
        const lease = seen.get(id);
        if (lease?.aliveAtMs !== undefined && now - lease.aliveAtMs < self.leaseMs) {
          live.set(id, lease.address);
        }
      }
      return live;
    },
    async othersAt(address) {
      const found = await instances.find({ address }).toArray();
      return new Map(found.filter((d) => d._id !== self.instanceId).map((d) => [d._id, d.beat]));
    },
    async remove(ids) {
      if (ids.length === 0) return;
      self.logger.info({ instances: ids }, 'leases of dead instances deleted');
      await instances.deleteMany({ _id: { $in: [...ids] } });
      for (const id of ids) seen.delete(id);
    },
  };
}
