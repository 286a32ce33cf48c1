import { type Clock, systemClock } from '@headset-cloud/runtime/clock.ts';
import { Bucket, type Rate } from './bucket.ts';

/** Usage of a key that another gateway reported. */
export interface Usage {
  readonly taken: number;
  readonly underWay: number;
  readonly asked: number;
}

/** Weight of the newest interval in the smoothed number of calls. */
const newestWeight = 0.3;
/** A bucket with more left than this rejects no call soon, here or elsewhere. */
const amplyLeft = 0.5;
/** Share of a burst, or of the running calls, that is reported to the other gateways. */
const reportedShare = 1 / 16;

/** Usage of one key (a client at an application, or with one device). */
export class Share {
  readonly key: string;
  readonly bucket: Bucket;
  underWay = 0;
  #asked = 0;
  #smoothed = 0;
  #unreported = 0;
  #reportedUnderWay = 0;
  readonly #others = new Map<string, { readonly untilMs: number; readonly usage: Usage }>();

  constructor(key: string, rate: Rate, clock: Clock = systemClock) {
    this.key = key;
    this.bucket = new Bucket(rate, clock);
  }

  /** Counts an arrived call, admitted or not. */
  ask(): void {
    this.#asked += 1;
  }

  /** Takes a call from the rate. Returns false if the rate is used up. */
  take(): boolean {
    if (!this.bucket.take()) return false;
    this.#unreported += 1;
    return true;
  }

  /** Takes a call that counts afterwards, even from a used-up rate. */
  takeAfterwards(): void {
    this.bucket.overdraw(1);
    this.#unreported += 1;
  }

  addUsage(instanceId: string, usage: Usage, untilMs: number): void {
    this.bucket.overdraw(usage.taken);
    this.#others.set(instanceId, { untilMs, usage });
  }

  /**
   * True if one more call may run here. Usage of other gateways is known a little late. So this gateway may always use
   * its proportional part of the limit. Otherwise all gateways would stop and start together.
   */
  mayStart(limit: number, nowMs: number): boolean {
    let underWay = 0;
    let asked = 0;
    for (const [instanceId, other] of this.#others) {
      if (other.untilMs < nowMs) this.#others.delete(instanceId);
      underWay += other.untilMs < nowMs ? 0 : other.usage.underWay;
      asked += other.untilMs < nowMs ? 0 : other.usage.asked;
    }
    if (underWay === 0) return this.underWay < limit;
    // Compared with reports of the others, which contain whole intervals.
    const own = this.#smoothed || this.#asked;
    const part = own > 0 ? Math.max(1, Math.floor((limit * own) / (own + asked))) : 1;
    return this.underWay < Math.max(part, limit - underWay);
  }

  /** Ends an interval. Returns the report for the other gateways; undefined if there is nothing to report. */
  report(mostUnderWay: number): Usage | undefined {
    this.#smoothed += newestWeight * (this.#asked - this.#smoothed);
    this.#asked = 0;
    const { burst } = this.bucket.rate;
    const rateMatters =
      this.#unreported > 0 && (this.#unreported >= burst * reportedShare || this.bucket.left < amplyLeft);
    const isHigh = this.underWay > 0 && this.underWay >= mostUnderWay * reportedShare;
    if (!rateMatters && !isHigh && this.#reportedUnderWay === 0) return undefined;
    const report = {
      taken: this.#unreported,
      underWay: isHigh ? this.underWay : 0,
      asked: this.#smoothed,
    };
    this.#unreported = 0;
    this.#reportedUnderWay = report.underWay;
    return report;
  }

  /** True if it is unused and nothing must be reported. */
  get isIdle(): boolean {
    return (
      this.underWay === 0 && this.#reportedUnderWay === 0 && this.#smoothed < 0.01 && this.bucket.left >= 1
    );
  }
}
