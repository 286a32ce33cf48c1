import { withoutDeadline } from './deadline.ts';

/**
 * Collects items and hands them over together: one write for many. `flush` is called with what has
 * gathered, one call at a time; a failed batch is handed to `onError` and forgotten by the batcher.
 */
export interface Batcher<T> {
  add(item: T): void;
  /** Hands over what is left and waits for it. */
  drain(): Promise<void>;
}

export function createBatcher<T>(options: {
  readonly maxItems: number;
  readonly maxWaitMs: number;
  readonly flush: (items: T[]) => Promise<void>;
  readonly onError: (error: unknown, items: T[]) => void;
}): Batcher<T> {
  const items: T[] = [];
  let timer: NodeJS.Timeout | undefined;
  let running: Promise<void> | undefined;

  const run = async (): Promise<void> => {
    while (items.length > 0) {
      const batch = items.splice(0, options.maxItems);
      try {
        // Nobody waits for what was added; the batch must not end with whoever began it.
        await withoutDeadline(() => options.flush(batch));
      } catch (error) {
        options.onError(error, batch);
      }
    }
  };
  const start = (): Promise<void> => {
    clearTimeout(timer);
    timer = undefined;
    running ??= run().finally(() => {
      running = undefined;
    });
    return running;
  };
  return {
    add(item) {
      items.push(item);
      if (items.length >= options.maxItems) void start();
      else timer ??= setTimeout(() => void start(), options.maxWaitMs);
    },
    async drain() {
      while (items.length > 0 || running) await start();
    },
  };
}
