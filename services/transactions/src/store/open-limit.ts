import { systemTime, type Time } from '@headset-cloud/runtime/clock.ts';
import { untilDeadline, withoutDeadline } from '@headset-cloud/runtime/deadline.ts';
import type { OpenLimit } from '../ports/open-limits.ts';

/** Counts open operations, up to `most`. */
export type CountOpen = (key: string, most: number) => Promise<number>;

/** Maximum creates between two counts, as a fraction of the limit. */
const portion = 1 / 10;
/** Above this limit a count is expensive. If it finds the limit reached, creates are rejected for `fullMs`. */
const cheapLimit = 1000;
const fullMs = 1000;
/** Maximum number of keys in memory; above it, keys without a create in progress are removed. */
const maxKeys = 100_000;

interface Known {
  /** Open operations at the last count; 0 before the first count. */
  counted: number;
  /** Creates admitted since the last count. */
  since: number;
  /** Admitted creates that are in progress. */
  inProgress: number;
  /** Resolves when no create is in progress; set only while a count waits for it. */
  idle: PromiseWithResolvers<void> | undefined;
  counting: Promise<void> | undefined;
  /** Creates are rejected until this time of the monotonic clock. */
  fullUntilMs: number;
}

/**
 * Limits open transactions: the last count plus this process's creates since then. Counts again after a tenth of the
 * limit, and before a rejection. After a start, the first tenth is admitted without a count.
 */
export function createOpenLimit(count: CountOpen, time: Time = systemTime): OpenLimit {
  const all = new Map<string, Known>();

  function knownOf(key: string): Known {
    let known = all.get(key);
    if (!known) {
      if (all.size >= maxKeys)
        for (const [other, { inProgress, counting }] of all)
          if (inProgress === 0 && !counting) all.delete(other);
      known = { counted: 0, since: 0, inProgress: 0, idle: undefined, counting: undefined, fullUntilMs: 0 };
      all.set(key, known);
    }
    return known;
  }

  /**
   * Counts; concurrent callers share one count. Waits until no create is in progress, so that none is counted twice.
   */
  function recount(key: string, most: number, known: Known): Promise<void> {
    const run = async (): Promise<void> => {
      if (known.inProgress > 0) {
        known.idle = Promise.withResolvers();
        await known.idle.promise;
      }
      known.counted = await count(key, most);
      known.since = 0;
      if (known.counted >= most && most > cheapLimit) known.fullUntilMs = time.monotonicNow() + fullMs;
    };
    known.counting ??= withoutDeadline(run).finally(() => {
      known.counting = undefined;
    });
    return known.counting;
  }

  return {
    async admit(key, most) {
      const known = knownOf(key);
      const isBelow = () => known.counted + known.since < most;
      for (let counts = 0; known.counting || known.since >= Math.max(1, most * portion) || !isBelow(); ) {
        if (counts > 0 && !known.counting && !isBelow()) return undefined;
        if (known.fullUntilMs > time.monotonicNow()) return undefined;
        await untilDeadline(recount(key, most, known));
        counts += 1;
      }
      known.since += 1;
      known.inProgress += 1;
      return (created) => {
        known.inProgress -= 1;
        if (!created) known.since -= 1;
        if (known.inProgress > 0) return;
        known.idle?.resolve();
        known.idle = undefined;
      };
    },
    isFull: async (key, most) => (await count(key, most)) >= most,
  };
}
