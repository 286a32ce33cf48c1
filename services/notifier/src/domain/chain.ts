import type { Delivery } from './delivery.ts';

/** A queued delivery that this instance owns. Its lease ends at `dueAtMs`. */
export interface QueueEntry {
  /** As known to this instance, including changes that are not stored yet. */
  delivery: Delivery;
  /** End of the wait for first attempts of earlier deliveries (rule A20); monotonic clock, milliseconds. */
  readonly orderWaitUntilMs: number;
  /** Set when the wait is over: the delivery is in a chain of its own. */
  alone?: boolean;
  /** Set if another instance has taken the delivery during the work on it. */
  lost?: boolean;
}

/**
 * The queued deliveries of one order key, ordered by sequence. Only the first may be worked on. A delivery without an
 * order is in a separate chain.
 */
export class Chain {
  readonly key: string;
  /** The entry that is being worked on. It may no longer be the first entry. */
  working: QueueEntry | undefined;
  readonly #entries: QueueEntry[] = [];

  constructor(key: string) {
    this.key = key;
  }

  get first(): QueueEntry | undefined {
    return this.#entries[0];
  }

  get last(): QueueEntry | undefined {
    return this.#entries.at(-1);
  }

  get all(): readonly QueueEntry[] {
    return this.#entries;
  }

  /**
   * Inserts a delivery by its sequence. Removes and returns progress that this delivery, or a later one, makes
   * obsolete: undelivered, not being worked on, and never taken over from an instance that may still send it (rule
   * B10).
   */
  add(entry: QueueEntry): QueueEntry[] {
    const { sequence } = entry.delivery;
    let index = this.#entries.length;
    while (index > 0 && (this.#entries[index - 1] as QueueEntry).delivery.sequence > sequence) index--;
    this.#entries.splice(index, 0, entry);
    const { last, working } = this;
    const replaced = this.#entries.filter((e) => e !== last && e !== working && mayBeReplaced(e.delivery));
    for (const e of replaced) this.remove(e);
    return replaced;
  }

  /** Returns false if the entry is not in the chain. */
  remove(entry: QueueEntry): boolean {
    const index = this.#entries.indexOf(entry);
    if (index >= 0) this.#entries.splice(index, 1);
    return index >= 0;
  }
}

/** The name of a delivery's chain. */
export function chainKey({ delivery, alone }: QueueEntry): string {
  return delivery.order !== 'none' && !alone ? `k${delivery.orderKey}` : `i${delivery.id}`;
}

/**
 * True for a progress that a later event of its order key may replace. A progress that was taken over must be sent,
 * because its former owner may still send it (rule B10).
 */
export function mayBeReplaced({ replaceable, takenOver }: Pick<Delivery, 'replaceable' | 'takenOver'>) {
  return replaceable && !takenOver;
}
