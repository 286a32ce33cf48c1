import type { Delivery } from './delivery.ts';

/** A delivery held in memory by the instance that owns it. */
export interface Held {
  delivery: Delivery;
  /** Past this time another instance may have taken it. */
  leaseUntilMs: number;
  /** From then on it waits for no first attempt of others (rule A20); by `performance.now()`. */
  readonly patientUntilMs: number;
  /** Its patience is over: it goes on its own. */
  alone?: boolean;
}

/**
 * The held deliveries of one order key, in the order of their sequence: only the first may be worked
 * on. A delivery without an order is a chain of its own.
 */
export class Chain {
  readonly key: string;
  /** The delivery that is being worked on; it need not be the first any more. */
  working: Held | undefined;
  readonly #held: Held[] = [];

  constructor(key: string) {
    this.key = key;
  }

  get first(): Held | undefined {
    return this.#held[0];
  }

  get all(): readonly Held[] {
    return this.#held;
  }

  /**
   * Puts a delivery in its place. Answers the progress that it, or a later one, makes useless, and
   * which is taken out: undelivered, not being worked on, and never taken over from an instance that
   * may still send it (rule B10).
   */
  add(held: Held): Held[] {
    let place = this.#held.length;
    while (place > 0 && (this.#held[place - 1] as Held).delivery.sequence > held.delivery.sequence) place--;
    this.#held.splice(place, 0, held);
    const last = this.#held.at(-1);
    const replaced = this.#held.filter(
      (h) => h !== last && h !== this.working && h.delivery.replaceable && !h.delivery.takenOver,
    );
    for (const h of replaced) this.remove(h);
    return replaced;
  }

  /** Answers false when it was not there. */
  remove(held: Held): boolean {
    const place = this.#held.indexOf(held);
    if (place >= 0) this.#held.splice(place, 1);
    return place >= 0;
  }
}

/** The name of a delivery's chain. */
export function chainKey({ delivery, alone }: Held): string {
  return delivery.order !== 'none' && !alone ? `k${delivery.orderKey}` : `i${delivery.id}`;
}
