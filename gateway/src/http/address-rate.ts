import { isIPv6 } from 'node:net';
import { type Clock, systemClock } from '@headset-cloud/kit/clock.ts';
import { DomainError } from '@headset-cloud/kit/errors.ts';
import { LRUCache } from 'lru-cache';
import { Bucket, type Rate } from '../shares/bucket.ts';

/** Addresses that are counted at the same time; the one that was idle longest is forgotten. */
const mostAddresses = 10_000;

/** Counts requests without a token by the address that they come from, at this gateway alone. */
export class AddressRate {
  readonly #rate: Rate;
  readonly #policy: string;
  readonly #clock: Clock;
  readonly #buckets = new LRUCache<string, Bucket>({ max: mostAddresses });

  constructor(policy: string, rate: Rate, clock: Clock = systemClock) {
    this.#policy = policy;
    this.#clock = clock;
    this.#rate = rate;
  }

  /** Takes one request; throws too_many_requests for one beyond the rate. */
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
      `Too many requests of this address: at most ${perSecond} a second.`,
      {
        limit: { policy: this.#policy, quota: perSecond, windowSeconds: 1 },
        retryAfterMs: bucket.waitMs,
      },
    );
  }
}

/** One IPv4 address, or the /64 that one customer of a provider has of IPv6. */
function networkOf(address: string): string {
  if (!isIPv6(address)) return address;
  const [before = '', after] = address.split('::');
  const groups = (text: string) => (text === '' ? [] : text.split(':'));
  const head = groups(before);
  const zeros = after === undefined ? 0 : Math.max(0, 8 - head.length - groups(after).length);
  return [...head, ...Array.from({ length: zeros }, () => '0'), ...groups(after ?? '')]
    .slice(0, 4)
    .map((group) => Number.parseInt(group, 16).toString(16))
    .join(':');
}
