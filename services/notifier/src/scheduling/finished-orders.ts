import type { Delivery } from '../domain/delivery.ts';

const maxKeys = 50_000;

/**
 * Up to which sequence everything of an order key is known to be finished: ended, or where that is
 * what others wait for, tried once. Finished is final, so what is remembered here stays true whatever
 * other instances do; what is forgotten is asked of the database.
 */
export class FinishedOrders {
  readonly #upTo = new Map<string, number>();

  /** `sequence`, and all before it, is finished. */
  set(orderKey: string, sequence: number): void {
    const known = this.#upTo.get(orderKey) ?? 0;
    this.#upTo.delete(orderKey);
    this.#upTo.set(orderKey, Math.max(known, sequence));
    if (this.#upTo.size > maxKeys) this.#upTo.delete(this.#upTo.keys().next().value as string);
  }

  /** True when everything before a delivery is known to be finished. */
  knows({ orderKey, sequence, after }: Pick<Delivery, 'orderKey' | 'sequence' | 'after'>): boolean {
    return sequence <= 1 || (this.#upTo.get(orderKey) ?? 0) >= (after ?? sequence - 1);
  }
}
