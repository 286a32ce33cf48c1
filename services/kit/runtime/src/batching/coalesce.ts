import { systemTime, type Time } from '../clock.ts';
import { forWaiters, late, type Waiter, waiter } from '../deadline.ts';
import { DomainError } from '../errors.ts';

/**
 * Maximum number of items that wait for a batch. An available database handles this many in well under a second. While
 * the database hangs, further callers are rejected at once, with a retry time.
 */
const maxWaiting = 20_000;

/** Result of one item of a batch. */
export type ItemOutcome<R> = { readonly value: R } | { readonly error: unknown };

/** How calls become batches. */
export interface BatchLimits {
  readonly maxRunning: number;
  readonly maxItems: number;
  /**
   * For batches that are network round trips, which cost more than their items. If set, the items of one event loop
   * iteration form one batch. While a batch runs, a second batch starts only after the running one has taken this long,
   * because it may hang; milliseconds. Default: an item runs at once if fewer than `maxRunning` batches run.
   */
  readonly concurrentAfterMs?: number;
}

/**
 * Combines concurrent single calls into batches. While `maxRunning` batches run, new items wait and form the next
 * batch. Otherwise an item runs at once, or at the end of the event loop iteration. So an idle system has no added
 * delay, and a busy system needs one round trip for many items. An item is skipped if its caller's deadline has passed
 * before the batch starts (deadline.ts). If the queue is full, further items are rejected with `unavailable`.
 */
export function coalesce<T, R>(
  options: BatchLimits & {
    /** Returns one outcome per item, in their order; when it rejects, all its items reject. */
    readonly run: (items: readonly T[]) => Promise<readonly ItemOutcome<R>[]>;
    readonly time?: Time;
  },
): (item: T) => Promise<R> {
  type Waiting = {
    readonly item: T;
    readonly by: Waiter;
    resolve(value: R): void;
    reject(error: unknown): void;
  };
  let waiting: Waiting[] = [];
  let running = 0;
  const { concurrentAfterMs, time = systemTime } = options;
  let lastBeganMs = 0;
  let pumpPlanned = false;
  let retryPlanned = false;

  const runBatch = async (batch: readonly Waiting[]): Promise<void> => {
    try {
      const items = batch.map((w) => w.item);
      const outcomes = await forWaiters(
        batch.map((w) => w.by),
        () => options.run(items),
      );
      batch.forEach((w, i) => {
        const outcome = outcomes[i];
        if (outcome && 'value' in outcome) w.resolve(outcome.value);
        else w.reject(outcome ? outcome.error : new Error('a batch returned too few outcomes'));
      });
    } catch (error) {
      for (const w of batch) w.reject(error);
    }
  };
  const rejectExpired = (): void => {
    if (!waiting.some((w) => w.by.gone)) return;
    const all = waiting;
    waiting = [];
    for (const w of all) {
      if (w.by.gone) w.reject(late());
      else waiting.push(w);
    }
  };
  /** True if the newest batch began less than `concurrentAfterMs` ago. Then also plans the next check. */
  const waitsForRunning = (): boolean => {
    if (concurrentAfterMs === undefined || running === 0) return false;
    const leftMs = lastBeganMs + concurrentAfterMs - time.monotonicNow();
    if (leftMs <= 0) return false;
    if (!retryPlanned) {
      retryPlanned = true;
      const timer = time.setTimeout(() => {
        retryPlanned = false;
        pump();
      }, leftMs);
      timer.unref();
    }
    return true;
  };
  const pump = (): void => {
    while (running < options.maxRunning && waiting.length > 0 && !waitsForRunning()) {
      rejectExpired();
      const batch = waiting.slice(0, options.maxItems);
      waiting = waiting.slice(options.maxItems);
      if (batch.length === 0) return;
      running += 1;
      if (concurrentAfterMs !== undefined) lastBeganMs = time.monotonicNow();
      void runBatch(batch).finally(() => {
        running -= 1;
        pump();
      });
    }
  };
  const pumpAfterIteration = (): void => {
    if (pumpPlanned) return;
    pumpPlanned = true;
    setImmediate(() => {
      pumpPlanned = false;
      pump();
    });
  };
  return (item) =>
    new Promise((resolve, reject) => {
      // Callers have about the same time limit. If the first one still waits, no other one has expired.
      if (waiting.length >= maxWaiting && waiting[0]?.by.gone) rejectExpired();
      if (waiting.length >= maxWaiting) return reject(full());
      waiting.push({ item, by: waiter(), resolve, reject });
      if (concurrentAfterMs === undefined) pump();
      else pumpAfterIteration();
    });
}

function full(): DomainError {
  return new DomainError('unavailable', 'The service is overloaded.', {
    internal: `${maxWaiting} items wait for the database already`,
    retryAfterMs: 1000,
  });
}
