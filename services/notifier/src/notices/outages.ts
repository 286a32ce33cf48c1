import { randomBytes } from 'node:crypto';
import type { Time } from '@headset-cloud/kit/clock.ts';
import type { Failpoints } from '@headset-cloud/kit/failpoints.ts';
import type { Logger } from '@headset-cloud/kit/logger.ts';
import { type Repetition, repeat } from '@headset-cloud/kit/repeat.ts';
import type { AttemptReason } from '../domain/attempt-reason.ts';
import { failingNotice, recoveredNotice } from '../domain/notice.ts';
import type { Outage, OutageStore } from '../ports.ts';
import type { Notices } from './notices.ts';

export interface OutagesOptions {
  readonly store: OutageStore;
  readonly notices: Pick<Notices, 'isRegisteredElsewhere' | 'isRegisteredFor' | 'waiting' | 'store'>;
  readonly time: Time;
  readonly logger: Logger;
  readonly failpoints: Failpoints;
  /** From a first failure to a last one, without a success between: then there is a notice. Milliseconds. */
  readonly afterMs: number;
}

/** Failures of a setting that this instance has seen. Times are of the monotonic clock. */
interface Failing {
  readonly sinceMs: number;
  /** The first failure by the wall clock. */
  readonly atMs: number;
  lastMs: number;
  reason: AttemptReason;
  /** The outage that it belongs to, once that is stored. */
  occasion?: string;
  /** So much longer than this instance has seen it. */
  beforeMs: number;
  /** As it is stored. */
  storedForMs: number;
}

const mostBetweenLooksMs = 15_000;
/** Shorter failures are not stored. */
const mostUnstoredMs = 60_000;
/** So many times is the time stored until there is a notice. */
const storedTimes = 60;
const dayMs = 24 * 3_600_000;
/** Nothing more was tried for so long: whoever tries next sees anew. */
const forgetAfterMs = 2 * dayMs;

/**
 * Knows which settings take nothing, and for how long; tells of those that do so for long, and of their end
 * (ADR 0055). Attempts only note in memory what they showed. Every some seconds what is failing is stored, one
 * document for each setting, so that instances and restarts go on with one outage. How long it lasts is measured by
 * monotonic clocks, between attempts. A success that any instance has seen ends it.
 */
export class Outages {
  readonly #o: OutagesOptions;
  readonly #failing = new Map<string, Failing>();
  /** Settings that have taken something since the last look. */
  #succeeded = new Set<string>();
  readonly #repetition: Repetition;

  constructor(options: OutagesOptions) {
    this.#o = options;
    const everyMs = Math.max(10, Math.min(mostBetweenLooksMs, options.afterMs / 4));
    this.#repetition = repeat('look at failing destinations', everyMs, options.logger, () => this.look());
  }

  start(): void {
    this.#repetition.start();
  }

  stop(): Promise<void> {
    return this.#repetition.stop();
  }

  /** An attempt has failed, or a probe of the same server. */
  failed(lane: string, reason: AttemptReason): void {
    const { time } = this.#o;
    const nowMs = time.monotonicNow();
    const known = this.#failing.get(lane);
    if (known) {
      known.lastMs = nowMs;
      known.reason = reason;
      return;
    }
    const atMs = time.now();
    this.#failing.set(lane, {
      ...{ sinceMs: nowMs, atMs, lastMs: nowMs, reason },
      ...{ beforeMs: 0, storedForMs: 0 },
    });
  }

  /** A callback was taken. */
  delivered(lane: string): void {
    this.#failing.delete(lane);
    this.#succeeded.add(lane);
  }

  /** It has no address any more: what was tried says nothing. */
  unset(lane: string): void {
    this.#failing.delete(lane);
  }

  /** Compares failures in memory with the stored outages. Repeated after `start`; tests call it directly. */
  async look(): Promise<number> {
    const outages = new Map((await this.#o.store.all()).map((outage) => [outage.lane, outage]));
    const succeeded = this.#succeeded;
    this.#succeeded = new Set();
    const errors: unknown[] = [];
    for (const outage of outages.values()) {
      const hasSucceeded = succeeded.has(outage.lane);
      if (outage.ended || hasSucceeded) outages.delete(outage.lane);
      try {
        if (outage.ended || outage.owed.length > 0) await this.#settle(outage);
        if (hasSucceeded && !outage.ended) await this.#end(outage);
      } catch (error) {
        // It counts at the next look.
        if (hasSucceeded) this.#succeeded.add(outage.lane);
        errors.push(error);
      }
    }
    for (const [lane, failing] of this.#failing) {
      await this.#follow(lane, failing, outages.get(lane)).catch((error) => errors.push(error));
    }
    if (errors.length > 0) throw errors[0];
    return 0;
  }

  /** It has taken a callback. */
  async #end(outage: Outage): Promise<void> {
    const { store, notices, time, failpoints } = this.#o;
    const { lane, occasion, sinceMs, told } = outage;
    if (!told) {
      // Another instance may be about to tell it: then it is seen at the next look.
      if (!(await store.drop(lane, occasion))) this.#succeeded.add(lane);
      return;
    }
    const [waiting, isSent] = await Promise.all([notices.waiting(lane), notices.isRegisteredFor(lane)]);
    const notice = recoveredNotice({ lane, occasion, sinceMs, waiting, isSent, nowMs: time.now() });
    if (!(await store.end(lane, occasion, notice))) return;
    failpoints('notifier.owed');
    await this.#settle({ ...outage, ended: true, owed: [...outage.owed, notice] });
  }

  async #settle(outage: Outage): Promise<void> {
    const { store, notices, failpoints } = this.#o;
    await notices.store(outage.owed);
    await store.settle(outage);
    failpoints('notifier.settled');
  }

  /** This instance has seen it fail; `stored` is the outage as of this look. */
  async #follow(lane: string, failing: Failing, stored: Outage | undefined): Promise<void> {
    const { store, time, failpoints, afterMs } = this.#o;
    const seenMs = failing.lastMs - failing.sinceMs;
    if (time.monotonicNow() - failing.lastMs > forgetAfterMs) this.#failing.delete(lane);
    if (failing.occasion === undefined) {
      if (seenMs < Math.min(mostUnstoredMs, afterMs / 4)) return;
      const occasion = randomBytes(12).toString('hex');
      const joined = await store.join(lane, { occasion, sinceMs: failing.atMs, forMs: seenMs });
      failpoints('notifier.outage');
      // It has ended just now: this is another one, at the next look.
      if (joined.ended) return;
      failing.occasion = joined.occasion;
      failing.storedForMs = joined.forMs;
      failing.beforeMs = Math.max(0, joined.forMs - seenMs);
      return;
    }
    if (stored?.occasion !== failing.occasion) {
      // Another instance has seen a success: what fails from now on is another outage.
      this.#failing.delete(lane);
      return;
    }
    const forMs = failing.beforeMs + seenMs;
    const isDue = !stored.told && forMs >= afterMs;
    // One that is told is kept while it lasts.
    if (!isDue && forMs - failing.storedForMs < (stored.told ? dayMs : afterMs / storedTimes)) return;
    const now = await store.goOn(lane, failing.occasion, forMs);
    failpoints('notifier.outage');
    failing.storedForMs = forMs;
    if (now && !now.told && now.forMs >= afterMs) await this.#tell(lane, failing, now);
  }

  async #tell(lane: string, { reason }: Failing, outage: Outage): Promise<void> {
    const { store, notices, time, failpoints } = this.#o;
    const { occasion, sinceMs } = outage;
    const [waiting, isSent] = await Promise.all([notices.waiting(lane), notices.isRegisteredElsewhere(lane)]);
    if (waiting === 0) {
      // Nothing is to be sent there any more.
      this.#failing.delete(lane);
      await store.drop(lane, occasion);
      return;
    }
    const notice = failingNotice({ lane, occasion, sinceMs, reason, waiting, isSent, nowMs: time.now() });
    if (!(await store.tell(lane, occasion, notice))) return;
    failpoints('notifier.owed');
    await this.#settle({ ...outage, told: true, owed: [notice] });
  }
}
