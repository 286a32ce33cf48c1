import { systemTime, type Time } from '../clock.ts';
import { forWaiters, late, type Waiter, waiter } from '../deadline.ts';
import { DomainError } from '../errors.ts';

/**
 * Maximum number of items that wait for a batch. A working database handles as many in well under a second. While the
 * database hangs, further callers get a retry time at once.
 */
const mostWaiting = 20_000;

/** Result of one item of a batch. */
export type ItemOutcome<R> = { readonly value: R } | { readonly error: unknown };

/** How calls become batches. */
export interface BatchLimits {
  readonly maxRunning: number;
  readonly maxItems: number;
  /**
   * Set if each batch is a network round trip, which costs more than its items: items of one event loop iteration
   * form one batch. A second batch starts only after the running batch has taken this long (it may hang, or be large);
   * milliseconds. Default: an item runs at once if fewer than `maxRunning` batches run.
   */
  readonly concurrentAfterMs?: number;
}

/**
 * Combines concurrent single calls into batches. While `maxRunning` batches are running, new items wait and form the
 * next batch. Otherwise a call runs at once, or at the end of the event loop iteration. So an idle system has no added
 * delay, and a busy system needs one round trip for many items. An item is skipped if its caller gave up before the
 * batch starts (deadline.ts). Items beyond the queue's limit reject with `unavailable`.
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
  let turnEnds = false;
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
        else w.reject(outcome ? outcome.error : new Error('a batch answered too few outcomes'));
      });
    } catch (error) {
      for (const w of batch) w.reject(error);
    }
  };
  const leaveOutGone = (): void => {
    if (!waiting.some((w) => w.by.gone)) return;
    const all = waiting;
    waiting = [];
    for (const w of all) {
      if (w.by.gone) w.reject(late());
      else waiting.push(w);
    }
  };
  /** True if the running batch has just begun: waiting items start after it. */
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
      leaveOutGone();
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
  const atEndOfTurn = (): void => {
    if (turnEnds) return;
    turnEnds = true;
    setImmediate(() => {
      turnEnds = false;
      pump();
    });
  };
  return (item) =>
    new Promise((resolve, reject) => {
      // Callers have about the same time limit, so the first in the queue gives up first.
      if (waiting.length >= mostWaiting && waiting[0]?.by.gone) leaveOutGone();
      if (waiting.length >= mostWaiting) return reject(full());
      waiting.push({ item, by: waiter(), resolve, reject });
      if (concurrentAfterMs === undefined) pump();
      else atEndOfTurn();
    });
}

function full(): DomainError {
  return new DomainError('unavailable', 'The service is overloaded.', {
    internal: `${mostWaiting} items wait for the database already`,
    retryAfterMs: 1000,
  });
}
