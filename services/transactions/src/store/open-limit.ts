import { systemTime, type Time } from '@headset-cloud/runtime/clock.ts';
import { untilDeadline, withoutDeadline } from '@headset-cloud/runtime/deadline.ts';
import type { OpenLimit } from '../ports/open-limits.ts';

/** Counts open operations, up to `most`. */
export type CountOpen = (key: string, most: number) => Promise<number>;

/** Creates between two counts, as a part of the limit. */
const portion = 1 / 10;
/** A count up to a limit above this is expensive: creates are refused for `fullMs` after it. */
const cheapLimit = 1000;
const fullMs = 1000;
/** Keys in memory; beyond it the keys without a create on the way are dropped. */
const mostKeys = 100_000;

interface Known {
  /** Open operations at the last count; 0 before the first one. */
  counted: number;
  /** Creates admitted since. */
  since: number;
  /** Of those, creates that have not ended. */
  underway: number;
  /** Resolves when none is under way; only while a count waits for that. */
  idle: PromiseWithResolvers<void> | undefined;
  counting: Promise<void> | undefined;
  /** Creates are refused until then, by the monotonic clock. */
  fullUntilMs: number;
}

/**
 * Adds the creates of this process to the last count. Counts again after a tenth of the limit, and before each refusal;
 * the first tenth after a start is admitted without a count.
 */
export function createOpenLimit(count: CountOpen, time: Time = systemTime): OpenLimit {
  const all = new Map<string, Known>();

  function knownOf(key: string): Known {
    let known = all.get(key);
    if (!known) {
      if (all.size >= mostKeys)
        for (const [other, { underway, counting }] of all) if (underway === 0 && !counting) all.delete(other);
      known = { counted: 0, since: 0, underway: 0, idle: undefined, counting: undefined, fullUntilMs: 0 };
      all.set(key, known);
    }
    return known;
  }

  /** Concurrent callers share one count. It starts when no create is under way, so that none is counted twice. */
  function recount(key: string, most: number, known: Known): Promise<void> {
    const run = async (): Promise<void> => {
      if (known.underway > 0) {
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
      known.underway += 1;
      return (created) => {
        known.underway -= 1;
        if (!created) known.since -= 1;
        if (known.underway > 0) return;
        known.idle?.resolve();
        known.idle = undefined;
      };
    },
    isFull: async (key, most) => (await count(key, most)) >= most,
  };
}
