import { LRUCache } from 'lru-cache';
import type { Delivery } from '../domain/delivery.ts';

const maxKeys = 50_000;

/**
 * The sequence up to which everything of an order key is known to be finished: ended, or tried once if others wait only
 * for that. Finished is final, so a remembered sequence stays valid whatever other instances do. For a forgotten order
 * key the database is asked.
 */
export class FinishedOrders {
  readonly #upTo = new LRUCache<string, number>({ max: maxKeys });

  /** Records that `sequence`, and all before it, is finished. */
  set(orderKey: string, sequence: number): void {
    this.#upTo.set(orderKey, Math.max(this.#upTo.get(orderKey) ?? 0, sequence));
  }

  /** True if everything before a delivery is known to be finished. */
  knows({ orderKey, sequence, after }: Pick<Delivery, 'orderKey' | 'sequence' | 'after'>): boolean {
    return sequence <= 1 || (this.#upTo.get(orderKey) ?? 0) >= (after ?? sequence - 1);
  }
}
