import { systemTime, type Time } from '@headset-cloud/runtime/clock.ts';
import { untilDeadline, withoutDeadline } from '@headset-cloud/runtime/deadline.ts';
import type { OpenLimit } from '../ports/open-limits.ts';

/** Counts open operations, up to `most`. */
export type CountOpen = (key: string, most: number) => Promise<number>;

/** Maximum creates between two counts, as a fraction of the limit. */
const recountShare = 1 / 10;
/** Above this limit a count is expensive. If it finds the limit reached, creates are rejected for `fullMs`. */
const cheapLimit = 1000;
const fullMs = 1000;
/** Maximum number of keys in memory; above it, keys without a create in progress are removed. */
const maxKeys = 100_000;

interface Usage {
  /** Open operations at the last count; 0 before the first count. */
  counted: number;
  /** Creates admitted since the last count. */
  createdSince: number;
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
  const usages = new Map<string, Usage>();

  function usageOf(key: string): Usage {
    let usage = usages.get(key);
    if (!usage) {
      if (usages.size >= maxKeys)
        for (const [other, { inProgress, counting }] of usages)
          if (inProgress === 0 && !counting) usages.delete(other);
      usage = {
        counted: 0,
        createdSince: 0,
        inProgress: 0,
        idle: undefined,
        counting: undefined,
        fullUntilMs: 0,
      };
      usages.set(key, usage);
    }
    return usage;
  }

  /**
   * Counts; concurrent callers share one count. Waits until no create is in progress, so that none is counted twice.
   */
  function recount(key: string, most: number, usage: Usage): Promise<void> {
    const run = async (): Promise<void> => {
      if (usage.inProgress > 0) {
        usage.idle = Promise.withResolvers();
        await usage.idle.promise;
      }
      usage.counted = await count(key, most);
      usage.createdSince = 0;
      if (usage.counted >= most && most > cheapLimit) usage.fullUntilMs = time.monotonicNow() + fullMs;
    };
    usage.counting ??= withoutDeadline(run).finally(() => {
      usage.counting = undefined;
    });
    return usage.counting;
  }

  return {
    async admit(key, most) {
      const usage = usageOf(key);
      const isFull = () => usage.counted + usage.createdSince >= most;
      const isCountOld = () => usage.createdSince >= Math.max(1, most * recountShare);
      for (let counts = 0; usage.counting || isCountOld() || isFull(); counts += 1) {
        // A count has confirmed during this call that the limit is reached.
        if (counts > 0 && !usage.counting && isFull()) return undefined;
        if (usage.fullUntilMs > time.monotonicNow()) return undefined;
        await untilDeadline(recount(key, most, usage));
      }
      usage.createdSince += 1;
      usage.inProgress += 1;
      return (created) => {
        usage.inProgress -= 1;
        if (!created) usage.createdSince -= 1;
        if (usage.inProgress > 0) return;
        usage.idle?.resolve();
        usage.idle = undefined;
      };
    },
    isFull: async (key, most) => (await count(key, most)) >= most,
  };
}
