import { TokenBucket } from 'limiter';

/** A rate with a burst. */
export interface Rate {
  readonly perSecond: number;
  readonly burst: number;
}

/** How many bursts others may have taken before they are forgiven. */
const mostOwedBursts = 4;

/** The library's token bucket, full at first, that others may overdraw: their calls were made already. */
export class Bucket {
  readonly #bucket: TokenBucket;

  constructor({ perSecond, burst }: Rate) {
    this.#bucket = new TokenBucket({ bucketSize: burst, tokensPerInterval: perSecond, interval: 1000 });
    this.#bucket.content = burst;
  }

  get rate(): Rate {
    return { perSecond: this.#bucket.tokensPerInterval, burst: this.#bucket.bucketSize };
  }

  /** A contract was changed. */
  change({ perSecond, burst }: Rate): void {
    if (this.#bucket.tokensPerInterval === perSecond && this.#bucket.bucketSize === burst) return;
    // What has passed until now counts by the rate that was.
    this.#bucket.drip();
    this.#bucket.tokensPerInterval = perSecond;
    this.#bucket.bucketSize = burst;
    this.#bucket.content = Math.min(this.#bucket.content, burst);
  }

  /** Takes one call; false: there is none left. */
  take(): boolean {
    return this.#bucket.tryRemoveTokens(1);
  }

  /** Calls that were made elsewhere. */
  owe(calls: number): void {
    this.#bucket.drip();
    const least = -mostOwedBursts * this.#bucket.bucketSize;
    this.#bucket.content = Math.max(this.#bucket.content - calls, least);
  }

  /** When the next call can be taken; milliseconds from now. */
  get waitMs(): number {
    return this.#bucket.getWaitTime(1);
  }

  /** Share of the burst that is left, 0 to 1; below 0 when others have overdrawn it. */
  get left(): number {
    this.#bucket.drip();
    return this.#bucket.content / this.#bucket.bucketSize;
  }
}
