import { type Clock, systemClock } from '@headset-cloud/runtime/clock.ts';
import { Bucket, type Rate } from './bucket.ts';

/** Usage of a key that one gateway reports to the others. */
export interface Usage {
  /** Calls that were admitted since the last report. */
  readonly taken: number;
  /** Calls that run now. */
  readonly underWay: number;
  /** Smoothed number of arrived calls per interval, admitted or not. */
  readonly asked: number;
}

/** Weight of the newest interval in the smoothed number of calls. */
const newestWeight = 0.3;
/** Remaining part of the burst above which the bucket is far from its limit, so that its usage need not be reported. */
const farFromLimit = 0.5;
/** Usage is reported if it reaches this part of the burst, or of the limit of running calls. */
const reportedPart = 1 / 16;

/** Usage of one key (a client at an application, or with one device). */
export class Share {
  readonly key: string;
  readonly bucket: Bucket;
  /** Calls that run at this gateway now. */
  underWay = 0;
  /** Calls that arrived in the current interval. */
  #asked = 0;
  /** Smoothed number of arrived calls per interval. */
  #smoothed = 0;
  /** Admitted calls that are not reported yet. */
  #unreported = 0;
  /** Running calls in the last report. */
  #reportedUnderWay = 0;
  /** Last report of each other gateway, until it expires. */
  readonly #others = new Map<string, { readonly untilMs: number; readonly usage: Usage }>();

  constructor(key: string, rate: Rate, clock: Clock = systemClock) {
    this.key = key;
    this.bucket = new Bucket(rate, clock);
  }

  /** Counts an arrived call, admitted or not. */
  countArrival(): void {
    this.#asked += 1;
  }

  /** Takes a call from the rate. Returns false if the rate is used up. */
  take(): boolean {
    if (!this.bucket.take()) return false;
    this.#unreported += 1;
    return true;
  }

  /** Counts a call that has already been made, even if the rate is used up. */
  takeAfterwards(): void {
    this.bucket.overdraw(1);
    this.#unreported += 1;
  }

  /** Adds the usage that another gateway reports; its running calls count until `untilMs`. */
  addUsage(instanceId: string, usage: Usage, untilMs: number): void {
    this.bucket.overdraw(usage.taken);
    this.#others.set(instanceId, { untilMs, usage });
  }

  /**
   * True if one more call may run here. Reports of other gateways arrive late, so all gateways would see a reached
   * limit, and a free limit, at the same time. Therefore each gateway may always use its proportional part of the
   * limit.
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
    // The other gateways report numbers of whole intervals, so the own number is the smoothed one, if there is one.
    const own = this.#smoothed || this.#asked;
    const part = own > 0 ? Math.max(1, Math.floor((limit * own) / (own + asked))) : 1;
    return this.underWay < Math.max(part, limit - underWay);
  }

  /** Ends an interval. Returns the report for the other gateways; undefined if there is nothing to report. */
  report(limitUnderWay: number): Usage | undefined {
    this.#smoothed += newestWeight * (this.#asked - this.#smoothed);
    this.#asked = 0;
    const { burst } = this.bucket.rate;
    const rateMatters =
      this.#unreported > 0 && (this.#unreported >= burst * reportedPart || this.bucket.left < farFromLimit);
    const isHigh = this.underWay > 0 && this.underWay >= limitUnderWay * reportedPart;
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

  /** True if the key is unused and there is nothing to report. */
  get isIdle(): boolean {
    return (
      this.underWay === 0 && this.#reportedUnderWay === 0 && this.#smoothed < 0.01 && this.bucket.left >= 1
    );
  }
}
