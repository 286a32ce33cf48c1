import { randomUUID } from 'node:crypto';
import { type Clock, monotonicMs, systemTime, type Time } from '@headset-cloud/runtime/clock.ts';
import { isDuplicateKey } from '@headset-cloud/runtime/errors.ts';
import type { Logger } from '@headset-cloud/runtime/logger.ts';
import { repeat } from '@headset-cloud/runtime/repeat.ts';
import type { Store } from '@headset-cloud/store/types.ts';
import type { Registry } from 'prom-client';
import type { RetentionConfig } from './config.ts';
import { type RetentionDocument, retentionCollection } from './documents.ts';
import type { KeptKind } from './kinds.ts';
import { registerRetention } from './metrics.ts';

/** Deletes expired records (ADR 0045). */
export interface Retention {
  start(): void;
  /** Resolves when the batch in progress, if any, is deleted. */
  stop(): Promise<void>;
  /** All records of this kind that ended at this time or later exist; undefined: nothing was deleted so far. */
  completeFromMs(kind: string): Promise<number | undefined>;
}

/**
 * Records in one write: few if a write blocks this process (embedded store), more if it takes two network round trips.
 */
const batchSizes = { inProcess: 20, overNetwork: 200 } as const;
/** Minimum pause after a batch, as a multiple of the batch's duration. */
const pausePerWork = 4;
/** A run that has not renewed its lease for this long is dead, and another instance continues; milliseconds. */
const leaseMs = 60_000;
/** Maximum interval at which a process checks whether a run is due; milliseconds. */
const maxCheckMs = 60_000;

/**
 * Deletes in small batches with pauses. For each kind, one instance at a time deletes. Two instances at once do no
 * harm, because each batch deletes only records that are still expired. So a run may be considered dead by mistake, and
 * the next run continues its work.
 */
export function createRetention(deps: {
  readonly store: Store;
  readonly kinds: readonly KeptKind[];
  readonly config: RetentionConfig;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly metrics: Registry;
  /** Records in one write; default: `batchSizes` by the kind of store. */
  readonly batchSize?: number;
  /** Measures the pauses and the interval. */
  readonly time?: Time;
}): Retention {
  const { store, kinds, clock, logger, config, time = systemTime } = deps;
  const states = store.collection<RetentionDocument>(retentionCollection);
  const isOverNetwork = states.batchesAtOnce === undefined;
  const { batchSize = isOverNetwork ? batchSizes.overNetwork : batchSizes.inProcess } = deps;
  const intervalMs = config.RETENTION_INTERVAL_MS;
  const holder = randomUUID();
  const metrics = registerRetention(deps.metrics, { kinds, states, clock });
  let stopping = new AbortController();

  async function claim(kind: string): Promise<boolean> {
    const now = clock.now();
    const latestDueMs = now + 2 * Math.max(leaseMs, intervalMs);
    const claimed = await states.updateOne(
      // A due time that no correct clock can have written counts as due.
      { _id: kind, $or: [{ dueAtMs: { $lte: now } }, { dueAtMs: { $gt: latestDueMs } }] },
      { $set: { dueAtMs: now + leaseMs, holder } },
    );
    if (claimed.matchedCount === 1) return true;
    if (await states.findOne({ _id: kind }, { projection: { _id: 1 } })) return false;
    try {
      await states.insertOne({ _id: kind, dueAtMs: now + leaseMs, holder });
      return true;
    } catch (error) {
      if (isDuplicateKey(error)) return false;
      throw error;
    }
  }

  /** Writes to the document if this process still runs the deletion; false: another process has taken over. */
  async function updateIfHolder(kind: string, set: Partial<RetentionDocument>): Promise<boolean> {
    return (await states.updateOne({ _id: kind, holder }, { $set: set })).matchedCount === 1;
  }

  async function pause(ms: number): Promise<void> {
    await time.sleep(ms, { signal: stopping.signal, ref: false }).catch(() => {});
  }

  async function run({ kind, keepMs, find, remove }: KeptKind): Promise<void> {
    const { signal } = stopping;
    // Fixed for the whole run: otherwise records would keep expiring, and the run would not end.
    const beforeMs = Math.floor(clock.now() - keepMs);
    let deleted = 0;
    let renewedAtMs = monotonicMs(clock);
    for (let completeFromStored = false; !signal.aborted; ) {
      const beganMs = monotonicMs(clock);
      const found = await find(beforeMs, batchSize);
      if (found.length > 0 && !completeFromStored) {
        // Stored before the first deletion, so that no list is reported as complete from a time that is too early.
        await states.updateOne({ _id: kind }, { $max: { completeFromMs: beforeMs } });
        completeFromStored = true;
      }
      const removed = found.length > 0 ? await remove(found, beforeMs) : 0;
      deleted += removed;
      metrics.deleted(kind, removed);
      if (found.length < batchSize) break;
      const nowMs = monotonicMs(clock);
      if (nowMs - renewedAtMs > leaseMs / 4) {
        if (!(await updateIfHolder(kind, { dueAtMs: clock.now() + leaseMs }))) return;
        renewedAtMs = nowMs;
      }
      const tookMs = nowMs - beganMs;
      await pause(Math.max((batchSize * 1000) / config.RETENTION_PER_SECOND - tookMs, pausePerWork * tookMs));
    }
    if (deleted > 0) logger.info({ kind, deleted, before: new Date(beforeMs) }, 'expired records deleted');
    const now = clock.now();
    // After a stop signal, another instance may continue the run at once.
    await updateIfHolder(
      kind,
      signal.aborted ? { dueAtMs: now } : { dueAtMs: now + intervalMs, completedAtMs: now },
    );
  }

  const runAll = async () => {
    for (const kind of kinds) {
      if (!stopping.signal.aborted && (await claim(kind.kind))) await run(kind);
    }
    return 0;
  };
  const repetition = repeat('retention', Math.min(intervalMs, maxCheckMs), logger, runAll, time);

  return {
    start() {
      stopping = new AbortController();
      repetition.start();
    },
    async stop() {
      stopping.abort();
      await repetition.stop();
    },
    async completeFromMs(kind) {
      return (await states.findOne({ _id: kind }, { projection: { completeFromMs: 1 } }))?.completeFromMs;
    },
  };
}
