import { systemTime, type Time, type Timer } from '../clock.ts';
import { withoutDeadline } from '../deadline.ts';
import { DomainError } from '../errors.ts';

/** Maximum number of items that wait during a flush. Further items are dropped, because no caller waits for an item. */
const maxWaiting = 20_000;

/**
 * Collects items and flushes them in batches, so that one write serves many items. `flush` is called with the collected
 * items, one call at a time. A failed batch is passed to `onError` and dropped, as are items beyond the limit.
 */
export interface Batcher<T> {
  add(item: T): void;
  /** Flushes the remaining items and waits for the flush. */
  drain(): Promise<void>;
}

export function createBatcher<T>(options: {
  readonly maxItems: number;
  readonly maxWaitMs: number;
  readonly flush: (items: T[]) => Promise<void>;
  readonly onError: (error: unknown, items: T[]) => void;
  readonly time?: Time;
}): Batcher<T> {
  const { time = systemTime } = options;
  const items: T[] = [];
  let timer: Timer | undefined;
  let running: Promise<void> | undefined;

  const run = async (): Promise<void> => {
    while (items.length > 0) {
      const batch = items.splice(0, options.maxItems);
      try {
        // No caller waits for the items, so the flush must not inherit the deadline of the call that
        // started it.
        await withoutDeadline(() => options.flush(batch));
      } catch (error) {
        options.onError(error, batch);
      }
    }
  };
  const start = (): Promise<void> => {
    time.clearTimer(timer);
    timer = undefined;
    running ??= run().finally(() => {
      running = undefined;
    });
    return running;
  };
  return {
    add(item) {
      if (items.length >= maxWaiting) return options.onError(full(), [item]);
      items.push(item);
      if (items.length >= options.maxItems) void start();
      else timer ??= time.setTimeout(() => void start(), options.maxWaitMs);
    },
    async drain() {
      while (items.length > 0 || running) await start();
    },
  };
}

function full(): DomainError {
  return new DomainError('unavailable', 'The service is overloaded.', {
    internal: `${maxWaiting} items wait to be written already`,
  });
}
