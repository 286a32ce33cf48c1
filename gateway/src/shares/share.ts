import { type Clock, systemClock } from '@headset-cloud/kit/clock.ts';
import { Bucket, type Rate } from './bucket.ts';

/** What another gateway told of a key. */
export interface Heard {
  readonly taken: number;
  readonly underWay: number;
  readonly asked: number;
}

/** Weight of the newest interval in the smoothed number of calls. */
const newestWeight = 0.3;
/** A bucket that is fuller than this refuses nobody soon, here or elsewhere. */
const amplyLeft = 0.5;
/** Share of a burst, or of the calls under way, that is worth telling the other gateways. */
const worthTelling = 1 / 16;

/** What one key (a client at an application, or with one device) takes from the platform. */
export class Share {
  readonly key: string;
  readonly bucket: Bucket;
  underWay = 0;
  #asked = 0;
  #smoothed = 0;
  #untold = 0;
  #toldUnderWay = 0;
  readonly #others = new Map<string, { readonly untilMs: number; readonly heard: Heard }>();

  constructor(key: string, rate: Rate, clock: Clock = systemClock) {
    this.key = key;
    this.bucket = new Bucket(rate, clock);
  }

  /** A call came, whatever becomes of it. */
  ask(): void {
    this.#asked += 1;
  }

  /** Takes a call from the rate; false: the rate is used up. */
  take(): boolean {
    if (!this.bucket.take()) return false;
    this.#untold += 1;
    return true;
  }

  /** Takes a call that turned out to count, also from a rate that is used up. */
  takeAfterwards(): void {
    this.bucket.owe(1);
    this.#untold += 1;
  }

  hear(instanceId: string, heard: Heard, untilMs: number): void {
    this.bucket.owe(heard.taken);
    this.#others.set(instanceId, { untilMs, heard });
  }

  /**
   * Whether one more call may be under way here. What the others have is known a little late. So this
   * gateway may always use the part of the limit that its part of the client's calls stands for: otherwise
   * all gateways would stop together and begin together.
   */
  hasRoom(limit: number, nowMs: number): boolean {
    let underWay = 0;
    let asked = 0;
    for (const [instanceId, other] of this.#others) {
      if (other.untilMs < nowMs) this.#others.delete(instanceId);
      underWay += other.untilMs < nowMs ? 0 : other.heard.underWay;
      asked += other.untilMs < nowMs ? 0 : other.heard.asked;
    }
    if (underWay === 0) return this.underWay < limit;
    // Compared with what the others told: numbers of whole intervals.
    const own = this.#smoothed || this.#asked;
    const part = own > 0 ? Math.max(1, Math.floor((limit * own) / (own + asked))) : 1;
    return this.underWay < Math.max(part, limit - underWay);
  }

  /** Ends an interval. Returns what the others have to know; undefined: nothing. */
  tell(mostUnderWay: number): Heard | undefined {
    this.#smoothed += newestWeight * (this.#asked - this.#smoothed);
    this.#asked = 0;
    const { burst } = this.bucket.rate;
    const rateMatters =
      this.#untold > 0 && (this.#untold >= burst * worthTelling || this.bucket.left < amplyLeft);
    const isHigh = this.underWay > 0 && this.underWay >= mostUnderWay * worthTelling;
    if (!rateMatters && !isHigh && this.#toldUnderWay === 0) return undefined;
    const told = {
      taken: this.#untold,
      underWay: isHigh ? this.underWay : 0,
      asked: this.#smoothed,
    };
    this.#untold = 0;
    this.#toldUnderWay = told.underWay;
    return told;
  }

  /** Nothing happens with it, and nobody has to be told anything. */
  get isIdle(): boolean {
    return this.underWay === 0 && this.#toldUnderWay === 0 && this.#smoothed < 0.01 && this.bucket.left >= 1;
  }
}
