import type { Clock } from '@headset-cloud/runtime/clock.ts';
import type { Logger } from '@headset-cloud/runtime/logger.ts';
import type { Delivery } from '../domain/delivery.ts';
import type { DeliveryStore } from '../ports/delivery-store.ts';

export interface ClaimsOptions {
  readonly clock: Clock;
  readonly logger: Logger;
  readonly store: Pick<DeliveryStore, 'claim' | 'pullForward'>;
  readonly leaseMs: number;
}

export interface Claimed {
  readonly claimed: readonly Delivery[];
  /** True if the lane may have more. */
  readonly more: boolean;
}

/** Claims due deliveries of a lane from the database, and makes waiting ones due. Never rejects. */
export class Claims {
  readonly #o: ClaimsOptions;

  constructor(options: ClaimsOptions) {
    this.#o = options;
  }

  /**
   * Claims up to `count`, including deliveries that this instance has worked on and not stored yet. Undefined if the
   * database is unavailable; the sweep tries again later.
   */
  async claim(lane: string, count: number): Promise<Claimed | undefined> {
    const { clock, logger, store, leaseMs } = this.#o;
    const now = clock.now();
    try {
      const { claimed, more } = await store.claim(lane, count, now, now + leaseMs);
      return { claimed, more };
    } catch (error) {
      logger.warn({ err: error, lane }, 'due callbacks not loaded');
      return undefined;
    }
  }

  /** Makes deliveries that wait for a later attempt due now. False if the database is unavailable. */
  async pullForward(lane: string): Promise<boolean> {
    const { clock, logger, store } = this.#o;
    try {
      await store.pullForward(lane, clock.now());
      return true;
    } catch (error) {
      logger.warn({ err: error, lane }, 'waiting callbacks not made due');
      return false;
    }
  }
}
