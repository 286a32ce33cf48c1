import DataLoader from 'dataloader';
import type { ItemOutcome } from './coalesce.ts';

/** Most items of one batch. */
const mostItems = 200;

/**
 * Turns the single calls of one turn of the event loop into batches, all of which are under way at
 * once: unlike `coalesce`, no batch waits for another, so one that is never answered holds up only
 * what goes with it.
 */
export function batchPerTurn<T, R>(options: {
  /** A batch weighs no more than `most`, unless a single item does. */
  readonly weight?: { readonly of: (item: T) => number; readonly most: number };
  /** Answers an outcome for each item, in their order; when it rejects, so do all its items. */
  readonly run: (items: readonly T[]) => Promise<readonly ItemOutcome<R>[]>;
}): (item: T) => Promise<R> {
  const runPart = async (items: readonly T[]): Promise<(R | Error)[]> => {
    try {
      const outcomes = await options.run(items);
      return items.map((_, i) => {
        const outcome = outcomes[i] ?? { error: new Error('a batch answered too few outcomes') };
        return 'value' in outcome ? outcome.value : toError(outcome.error);
      });
    } catch (error) {
      return items.map(() => toError(error));
    }
  };
  const loader = new DataLoader<T, R>(
    async (items) => (await Promise.all(byWeight(items, options.weight).map(runPart))).flat(),
    { cache: false, maxBatchSize: mostItems, batchScheduleFn: (callback) => setImmediate(callback) },
  );
  return (item) => loader.load(item);
}

function byWeight<T>(
  items: readonly T[],
  limit: { readonly of: (item: T) => number; readonly most: number } | undefined,
): (readonly T[])[] {
  if (!limit) return [items];
  const parts: T[][] = [];
  let room = 0;
  for (const item of items) {
    const weight = limit.of(item);
    if (parts.length === 0 || weight > room) {
      parts.push([]);
      room = limit.most;
    }
    parts.at(-1)?.push(item);
    room -= weight;
  }
  return parts;
}

function toError(error: unknown): Error {
  return error instanceof Error ? error : new Error('a batch failed', { cause: error });
}
