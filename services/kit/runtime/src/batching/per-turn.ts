import DataLoader from 'dataloader';
import { forWaiters, late, type Waiter, waiter } from '../deadline.ts';
import type { ItemOutcome } from './coalesce.ts';

/** Maximum number of items of one batch. */
const maxItems = 200;

/**
 * Combines the single calls of one event loop iteration into batches that run concurrently. Unlike in `coalesce`, no
 * batch waits for another, so a batch that never ends delays only its own items. An item is skipped if its
 * caller's deadline has passed before the batch starts (deadline.ts).
 */
export function batchPerTurn<T, R>(options: {
  /** Weight of an item. A batch of several items weighs at most `most`. */
  readonly weight?: { readonly of: (item: T) => number; readonly most: number };
  /** Returns one outcome per item, in their order; when it rejects, all its items reject. */
  readonly run: (items: readonly T[]) => Promise<readonly ItemOutcome<R>[]>;
}): (item: T) => Promise<R> {
  type Waiting = { readonly item: T; readonly by: Waiter };
  const runPart = async (all: readonly Waiting[]): Promise<(R | Error)[]> => {
    const due = all.filter(({ by }) => !by.gone);
    const answers = new Map<Waiting, R | Error>();
    for (const [i, answer] of (due.length === 0 ? [] : await runDue(due)).entries()) {
      answers.set(due[i] as Waiting, answer);
    }
    return all.map((waiting) => (answers.has(waiting) ? (answers.get(waiting) as R | Error) : late()));
  };
  const runDue = async (due: readonly Waiting[]): Promise<(R | Error)[]> => {
    const items = due.map(({ item }) => item);
    try {
      const outcomes = await forWaiters(
        due.map(({ by }) => by),
        () => options.run(items),
      );
      return items.map((_, i) => {
        const outcome = outcomes[i] ?? { error: new Error('a batch returned too few outcomes') };
        return 'value' in outcome ? outcome.value : toError(outcome.error);
      });
    } catch (error) {
      return items.map(() => toError(error));
    }
  };
  const weight = options.weight && {
    of: ({ item }: Waiting) => options.weight?.of(item) ?? 0,
    most: options.weight.most,
  };
  const loader = new DataLoader<Waiting, R>(
    async (items) => (await Promise.all(byWeight(items, weight).map(runPart))).flat(),
    { cache: false, maxBatchSize: maxItems, batchScheduleFn: (callback) => setImmediate(callback) },
  );
  return (item) => loader.load({ item, by: waiter() });
}

function byWeight<T>(
  items: readonly T[],
  limit: { readonly of: (item: T) => number; readonly most: number } | undefined,
): (readonly T[])[] {
  if (!limit) return [items];
  const parts: T[][] = [];
  let left = 0;
  for (const item of items) {
    const weight = limit.of(item);
    if (parts.length === 0 || weight > left) {
      parts.push([]);
      left = limit.most;
    }
    parts.at(-1)?.push(item);
    left -= weight;
  }
  return parts;
}

function toError(error: unknown): Error {
  return error instanceof Error ? error : new Error('a batch failed', { cause: error });
}
