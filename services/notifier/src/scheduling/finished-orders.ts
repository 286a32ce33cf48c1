import { LRUCache } from 'lru-cache';
import type { Delivery } from '../domain/delivery.ts';

const maxKeys = 50_000;

/**
 * The sequence up to which all deliveries of an order key are known to be finished: ended (order 'ended'), or tried
 * once (order 'tried'). Finished is final, so a remembered sequence stays valid whatever other instances do. For order
 * keys that are not remembered the database is read.
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
