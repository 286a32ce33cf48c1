import { setTimeout as delay } from 'node:timers/promises';
import { withoutDeadline } from '@headset-cloud/kit/deadline.ts';

/**
 * How many unprocessed transactions there are at most: every create adds one, no end takes one away. A
 * recount lowers it (ADR 0040).
 */
export interface Stock {
  /** Undefined: never counted. */
  readonly atMost: number | undefined;
  /** Rises with each recount. */
  readonly recounts: number;
}

export interface StockStore {
  read(key: string): Promise<Stock>;
  /** Unprocessed transactions now. */
  count(key: string): Promise<number>;
  /** Corrects the stock by what it was when the count began, unless it has been corrected since. */
  correct(key: string, seen: Stock, counted: number): Promise<void>;
}

export interface Recounts {
  /** Resolves when the stock has been counted; concurrent callers share one count. */
  recount(key: string): Promise<void>;
  /** The same, for nobody to wait for. */
  recountSoon(key: string): void;
  /** Refuses creates for a while: a recount has found no room. */
  setFull(key: string): void;
  isFull(key: string): boolean;
}

/**
 * Time after which a create that was admitted has stored its transaction; a count before would miss it.
 * Milliseconds.
 */
const settleMs = 1000;
/** How long a full stock is not counted again; milliseconds. */
export const fullMs = 1000;
/** Keys that are remembered as full. */
const mostFull = 10_000;

export function createRecounts(store: StockStore): Recounts {
  const running = new Map<string, Promise<void>>();
  /** Until when creates are refused. */
  const full = new Map<string, number>();
  /** The stock that the last recount left, and when. */
  const left = new Map<string, { readonly atMost: number; readonly atMs: number }>();

  async function run(key: string): Promise<void> {
    const seen = await store.read(key);
    const known = left.get(key);
    const isQuiet = known?.atMost === seen.atMost && performance.now() - (known?.atMs ?? 0) > settleMs;
    // One that was never counted has no limited creates that could be on their way.
    if (seen.atMost !== undefined && !isQuiet) {
      await delay(settleMs);
      // Another process has counted meanwhile.
      if ((await store.read(key)).recounts !== seen.recounts) return;
    }
    const counted = await store.count(key);
    // What was admitted since `seen` stays added.
    await store.correct(key, seen, counted);
    if (left.size >= mostFull) left.clear();
    left.set(key, { atMost: counted, atMs: performance.now() });
  }

  function recount(key: string): Promise<void> {
    let one = running.get(key);
    if (!one) {
      one = withoutDeadline(() => run(key)).finally(() => running.delete(key));
      running.set(key, one);
    }
    return one;
  }

  return {
    recount,
    recountSoon(key) {
      // A create that needs it counts again, and tells what is wrong.
      recount(key).catch(() => {});
    },
    setFull(key) {
      if (full.size >= mostFull) full.clear();
      full.set(key, performance.now() + fullMs);
    },
    isFull(key) {
      const until = full.get(key);
      if (until === undefined) return false;
      if (until > performance.now()) return true;
      full.delete(key);
      return false;
    },
  };
}
