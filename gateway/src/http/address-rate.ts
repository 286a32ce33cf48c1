import { type Clock, systemClock } from '@headset-cloud/runtime/clock.ts';
import { DomainError } from '@headset-cloud/runtime/errors.ts';
import { networkOf } from '@headset-cloud/runtime/listeners/address.ts';
import { LRUCache } from 'lru-cache';
import { Bucket, type Rate } from '../shares/bucket.ts';

/** Maximum number of counted addresses. At the maximum, the address idle longest is forgotten. */
const maxAddresses = 10_000;

/** Counts requests without a token by their source address, only at this gateway. */
export class AddressRate {
  readonly #rate: Rate;
  readonly #policy: string;
  readonly #clock: Clock;
  readonly #buckets = new LRUCache<string, Bucket>({ max: maxAddresses });

  constructor(policy: string, rate: Rate, clock: Clock = systemClock) {
    this.#policy = policy;
    this.#clock = clock;
    this.#rate = rate;
  }

  /** Counts one request. Throws too_many_requests beyond the rate. */
  take(address: string): void {
    const key = networkOf(address);
    let bucket = this.#buckets.get(key);
    if (!bucket) {
      bucket = new Bucket(this.#rate, this.#clock);
      this.#buckets.set(key, bucket);
    }
    if (bucket.take()) return;
    const { perSecond } = this.#rate;
    throw new DomainError(
      'too_many_requests',
      `Too many requests from this address: at most ${perSecond} a second.`,
      {
        limit: { policy: this.#policy, quota: perSecond, windowSeconds: 1 },
        retryAfterMs: bucket.waitMs,
      },
    );
  }
}
