import { LRUCache } from 'lru-cache';
import type { Delivery } from '../domain/delivery.ts';

const maxKeys = 50_000;

/**
 * Up to which sequence everything of an order key is known to be finished: ended, or where that is
 * what others wait for, tried once. Finished is final, so what is remembered here stays true whatever
 * other instances do; what is forgotten is asked of the database.
 */
export class FinishedOrders {
  readonly #upTo = new LRUCache<string, number>({ max: maxKeys });

  /** `sequence`, and all before it, is finished. */
  set(orderKey: string, sequence: number): void {
    this.#upTo.set(orderKey, Math.max(this.#upTo.get(orderKey) ?? 0, sequence));
  }

  /** True when everything before a delivery is known to be finished. */
  knows({ orderKey, sequence, after }: Pick<Delivery, 'orderKey' | 'sequence' | 'after'>): boolean {
    return sequence <= 1 || (this.#upTo.get(orderKey) ?? 0) >= (after ?? sequence - 1);
  }
}
