import type { Delivery } from './delivery.ts';

/** A place in the queue: a delivery that this instance owns (its lease ends at `dueAtMs`). */
export interface QueueEntry {
  /** As this instance knows it: changes that are not stored yet included. */
  delivery: Delivery;
  /** From then on it waits for no first attempt of others (rule A20); by the monotonic clock. */
  readonly patientUntilMs: number;
  /** Its patience is over: it goes on its own. */
  alone?: boolean;
  /** It was found to be another instance's while it was worked on. */
  lost?: boolean;
}

/**
 * The queued deliveries of one order key, in the order of their sequence: only the first may be worked
 * on. A delivery without an order is a chain of its own.
 */
export class Chain {
  readonly key: string;
  /** The entry that is being worked on; it need not be the first any more. */
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
   * Puts a delivery in its place. Answers the progress that it, or a later one, makes useless, and
   * which is taken out: undelivered, not being worked on, and never taken over from an instance that
   * may still send it (rule B10).
   */
  add(entry: QueueEntry): QueueEntry[] {
    const { sequence } = entry.delivery;
    let place = this.#entries.length;
    while (place > 0 && (this.#entries[place - 1] as QueueEntry).delivery.sequence > sequence) place--;
    this.#entries.splice(place, 0, entry);
    const { last, working } = this;
    const replaced = this.#entries.filter((e) => e !== last && e !== working && mayBeReplaced(e.delivery));
    for (const e of replaced) this.remove(e);
    return replaced;
  }

  /** Answers false when it was not there. */
  remove(entry: QueueEntry): boolean {
    const place = this.#entries.indexOf(entry);
    if (place >= 0) this.#entries.splice(place, 1);
    return place >= 0;
  }
}

/** The name of a delivery's chain. */
export function chainKey({ delivery, alone }: QueueEntry): string {
  return delivery.order !== 'none' && !alone ? `k${delivery.orderKey}` : `i${delivery.id}`;
}

/**
 * True of a progress that a later event of its order key makes useless. One that was taken over must be
 * sent: its former owner may still be about to send it (rule B10).
 */
export function mayBeReplaced({ replaceable, takenOver }: Pick<Delivery, 'replaceable' | 'takenOver'>) {
  return replaceable && !takenOver;
}
