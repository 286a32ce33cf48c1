/** What is known of a delivery that has no place in the feed yet. */
export interface Unplaced {
  readonly id: string;
  readonly orderKey: string;
  readonly sequence: number;
  /**
   * A progress that is not sent where a later event of its transaction was stored before it (rule B10): `replaced` has
   * ended so; `open` may do so, or may yet be sent by an instance that takes it over. Undefined: anything else.
   */
  readonly progress: 'open' | 'replaced' | undefined;
  readonly createdAtMs: number;
  /** When it is removed; undefined: not before it has ended, and then kept as long as any. */
  readonly expireAtMs: number | undefined;
}

/** What is known of a delivery that was sent again and has no place for it in the feed yet. */
export interface Resent {
  readonly id: string;
  /** So many times it was sent again. */
  readonly resends: number;
  /** False: it gets its one place first, and then no further one for this. */
  readonly isPlaced: boolean;
  /** When it is removed; undefined: not before it has ended. */
  readonly expireAtMs: number | undefined;
}

/**
 * The order in which deliveries get their places: by creation, but those of one order key by their sequence, since
 * clocks that give the times may step. Pure.
 */
export function inFeedOrder(found: readonly Unplaced[]): Unplaced[] {
  const byTime = found.toSorted((a, b) => a.createdAtMs - b.createdAtMs || (a.id < b.id ? -1 : 1));
  const ofKey = new Map<string, Unplaced[]>();
  for (const one of byTime) {
    if (one.orderKey === '') continue;
    const others = ofKey.get(one.orderKey) ?? [];
    others.push(one);
    ofKey.set(one.orderKey, others);
  }
  for (const others of ofKey.values()) others.sort((a, b) => b.sequence - a.sequence);
  // Each place that an order key has goes to the next one of that key.
  return byTime.map((one) => ofKey.get(one.orderKey)?.pop() ?? one);
}

/**
 * Progress that was stored behind what followed it in its transaction (`placedUpTo`: the highest number with a place, by
 * order key): published by an instance that was stopped before. Where it was replaced it gets no place; while it is
 * open that is not known. Pure.
 */
export function tooLate(found: readonly Unplaced[], placedUpTo: ReadonlyMap<string, number>): Unplaced[] {
  return found.filter(
    ({ progress, orderKey, sequence }) =>
      progress !== undefined && sequence < (placedUpTo.get(orderKey) ?? 0),
  );
}

/**
 * The first of those found whose transactions' other callbacks have to be looked for, for so many transactions at most:
 * each may have a long past. Pure.
 */
export function firstOf(found: readonly Unplaced[], mostTransactions: number): readonly Unplaced[] {
  const beyond = new Set(mayHaveEarlier(found).slice(mostTransactions));
  const end = found.findIndex(({ orderKey }) => beyond.has(orderKey));
  // What is cut off may leave further gaps.
  return end < 0 ? found : firstOf(found.slice(0, end), mostTransactions);
}

const ofTransaction = /^tx-\d+$/;

/**
 * Transactions of which earlier callbacks may be without a place as well, and not be among those found: their order
 * keys, which their callbacks' ids begin with (ADR 0006). The numbers of a transaction's callbacks begin with 1; a
 * gap may be one that was found elsewhere, or never published.
 */
export function mayHaveEarlier(found: readonly Unplaced[]): string[] {
  const sequences = new Map<string, Set<number>>();
  for (const { orderKey, sequence } of found) {
    if (!ofTransaction.test(orderKey)) continue;
    sequences.set(orderKey, (sequences.get(orderKey) ?? new Set()).add(sequence));
  }
  return [...sequences].flatMap(([orderKey, known]) => (Math.max(...known) > known.size ? [orderKey] : []));
}
