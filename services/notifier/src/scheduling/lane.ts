import type { Time, Timer } from '@headset-cloud/runtime/clock.ts';
import type { Logger } from '@headset-cloud/runtime/logger.ts';
import type { QueueEntry } from '../domain/chain.ts';
import { type Delivery, laneParts } from '../domain/delivery.ts';
import { lanePauseMs, type TryOutcome } from '../domain/next-step.ts';
import { type TimeLimit, waitState } from '../domain/time-limit.ts';
import { claimCount, isCrowded, type Memory, windowOf, windowUnitsOf } from '../domain/window.ts';
import type { NotifierMetrics } from '../metrics.ts';
import type { Admission, Attempts } from './attempts.ts';
import type { ChangeWriter } from './change-writer.ts';
import type { Claims } from './claims.ts';
import type { DeliveryRecords } from './delivery-records.ts';
import type { DestinationHealth, DestinationHealths, DestinationUser } from './destination-health.ts';
import type { FinishedOrders } from './finished-orders.ts';
import { type Changed, LaneQueue, type Taken } from './lane-queue.ts';

/** Settings of every lane. */
export interface LaneSettings {
  readonly limit: TimeLimit;
  /** Maximum wait of a delivery for first attempts of others (rule A20); milliseconds. */
  readonly orderWaitMs: number;
  /** Window units in memory while the destination accepts callbacks. */
  readonly windowSize: number;
  readonly unsetRetryMs: number;
}

/** Shared by all lanes. */
export interface LaneContext {
  readonly time: Time;
  readonly logger: Logger;
  readonly random: () => number;
  readonly settings: LaneSettings;
  readonly attempts: Attempts;
  readonly claims: Claims;
  readonly writer: Pick<ChangeWriter, 'full' | 'has'>;
  readonly records: Pick<DeliveryRecords, 'lacks' | 'maySendUnrecorded' | 'record' | 'recorded' | 'change'>;
  readonly finished: FinishedOrders;
  readonly metrics: Pick<NotifierMetrics, 'dead'>;
  readonly healths: DestinationHealths;
  readonly memory: Memory;
  readonly stopping: () => boolean;
}

/**
 * Callbacks within this many multiples of the destination's limit may be sent before they are stored. Most end within a
 * second.
 */
const soonMultiple = 4;
/**
 * Idle lanes stay in memory for this long. A known healthy destination lets the next callback be sent without a
 * database read.
 */
const keptForMs = 60_000;
/** Time until the next check whether changes can be stored again; milliseconds. */
const fullWaitMs = 50;

/**
 * Works on one application's setting: decides when deliveries start, and refills its queue from the database. Stores
 * the changes that the queue returns.
 */
export class Lane implements DestinationUser {
  readonly name: string;
  readonly #c: LaneContext;
  readonly #queue: LaneQueue;
  #health: DestinationHealth;
  /** Time of the last new deliveries; monotonic clock. */
  #usedAtMs: number;
  /** Window units that are reserved for planned deliveries. */
  #expected = 0;
  /** Number of running tries. */
  #active = 0;
  /** True if the database may contain work without an owner. */
  #maybeMore = false;
  #claiming = false;
  #pulling = 0;
  /** Average window units of the last claimed deliveries. */
  #claimedUnits = 1;
  /** True if `#health` is that of the setting's address, as last read. */
  #attached = false;
  /** True if the setting has no address or key, as last read. */
  #unset = false;
  #unknownInARow = 0;
  /** Monotonic clock, like the times of the circuit breaker: a clock that is set back must not stop the lane. */
  #pausedUntilMs = 0;
  #timer: Timer | undefined;

  constructor(name: string, context: LaneContext) {
    this.name = name;
    this.#c = context;
    this.#queue = new LaneQueue(context.time, context.finished);
    this.#usedAtMs = context.time.monotonicNow();
    this.#health = context.healths.ofUnknown();
  }

  get size(): number {
    return this.#queue.size;
  }

  /** Window units that are used or reserved for planned deliveries. */
  get taken(): number {
    return this.size + this.#expected;
  }

  /** Reserves window units for deliveries that are added after they are stored; negative to release them. */
  expect(units: number): void {
    this.#expected += units;
  }

  /** True while a try or a database call is running. */
  get busy(): boolean {
    return this.#active > 0 || this.#claiming || this.#pulling > 0;
  }

  /** True if the lane can be removed: it is empty and was not used for a while. */
  get idle(): boolean {
    const unused = this.#c.time.monotonicNow() - this.#usedAtMs > keptForMs;
    return unused && this.taken === 0 && !this.busy && !this.#health.breaker.failing;
  }

  /** Free window units; 0 while older deliveries wait in the database. */
  get free(): number {
    return this.#maybeMore || this.#claiming ? 0 : Math.max(0, this.#window - this.taken);
  }

  get #accepting(): boolean {
    return !this.#health.breaker.failing && !this.#unset;
  }

  get #window(): number {
    return windowOf(this.#c.settings.windowSize, this.#accepting);
  }

  /**
   * Number of further deliveries that can be sent soon to a destination that is known to be set and to accept
   * callbacks. These may be recorded after their attempt.
   */
  get freeSoon(): number {
    const now = this.#c.time.monotonicNow();
    const { breaker } = this.#health;
    if (this.#unset || !this.#attached || now < Math.max(this.#pausedUntilMs, breaker.notBeforeMs)) return 0;
    return Math.min(this.free, breaker.capacityFor(soonMultiple) - this.#queue.readyCount);
  }

  entries(): Iterable<QueueEntry> {
    return this.#queue.entries();
  }

  /** Adds deliveries that this instance owns. */
  accept(deliveries: readonly Delivery[]): void {
    const { time, settings, records } = this.#c;
    this.#usedAtMs = time.monotonicNow();
    const orderWaitUntilMs = time.monotonicNow() + settings.orderWaitMs;
    for (const delivery of deliveries) {
      const entry: QueueEntry = { delivery, orderWaitUntilMs };
      this.#store(this.#queue.add(entry));
      void records.recorded(delivery.id).then((mine) => {
        if (!mine) this.drop(entry);
      });
    }
  }

  /** Records that the database may contain work without an owner. */
  foundWork(): void {
    this.#maybeMore = true;
  }

  /** Drops a delivery that another instance has taken. */
  drop(entry: QueueEntry): void {
    this.#queue.drop(entry);
  }

  /** Starts deliveries that may start now, and claims more. */
  dispatch(): void {
    const { stopping, time, writer } = this.#c;
    if (stopping()) return;
    const now = time.monotonicNow();
    this.#queue.wake();
    let nextMs = this.#queue.wakeAtMs;
    if (writer.full) {
      if (this.#queue.size > 0 || this.#maybeMore) nextMs = now + fullWaitMs;
    } else if (now < this.#pausedUntilMs) nextMs = this.#pausedUntilMs;
    else {
      nextMs = Math.min(nextMs, this.#startReady(now));
      this.#refill();
    }
    this.#wakeAt(nextMs);
  }

  /** Lets deliveries whose maximum wait for others is over start; gives up deliveries after their time limit. */
  tidy(): void {
    this.#queue.separate();
    this.#expire();
  }

  /** Gives every delivery that is not being worked on back to the database. */
  giveBack(): void {
    this.#queue.wakeAll();
    this.#shrinkTo(0);
  }

  /** Gives everything back. Must be called before the lane is removed. */
  close(): void {
    this.giveBack();
    this.detach();
  }

  failing(): void {
    this.#shrinkTo(this.#window);
  }

  /** Retries deliveries that wait for a later attempt now. */
  recovered(): void {
    this.#queue.wakeAll();
    this.#pulling++;
    void this.#c.claims.pullForward(this.name).then((pulled) => {
      this.#maybeMore ||= pulled;
      this.#pulling--;
      this.dispatch();
    });
  }

  /** Must be called when the lane is removed. */
  detach(): void {
    this.#c.time.clearTimer(this.#timer);
    this.#health.leave(this);
  }

  /**
   * Gives up deliveries after their time limit while the destination does not accept callbacks, and so frees memory for
   * others.
   */
  #expire(): void {
    if (this.#accepting) return;
    const { time, settings } = this.#c;
    const { probes } = this.#health;
    const unset = this.#unset;
    const recent = unset ? 'no address' : probes.recent;
    const now = time.now();
    let tooFew = false;
    const isOver = (delivery: Delivery) => {
      const state = waitState(delivery, recent, now, settings.limit);
      tooFew ||= state === 'too few attempts';
      return state === 'over';
    };
    this.#store(this.#queue.giveUp(isOver, unset ? 'destination not set' : 'destination failing'));
    // Other instances, and this one before its start, may have made more probes than are known here.
    if (tooFew) void probes.refresh()?.then(() => this.#expire());
  }

  /**
   * Starts ready deliveries. Returns the time at which the destination allows the next start; infinite if the end of a
   * request or a new delivery causes the next start. Monotonic clock, milliseconds.
   */
  #startReady(now: number): number {
    while (this.#queue.readyCount > 0) {
      const health = this.#health;
      if (!health.breaker.mayStart(now)) {
        const { notBeforeMs } = health.breaker;
        return notBeforeMs > now ? notBeforeMs : Number.POSITIVE_INFINITY;
      }
      const taken = this.#queue.take();
      if (!taken) break;
      health.breaker.enter();
      this.#active++;
      void this.#work(taken, health);
    }
    return Number.POSITIVE_INFINITY;
  }

  async #work(taken: Taken, entered: DestinationHealth): Promise<void> {
    let outcome: TryOutcome;
    try {
      outcome = await this.#try(taken.entry, entered);
    } catch (error) {
      // The database or devices is unavailable, so this is not an attempt. #try has left the circuit breaker.
      this.#c.logger.warn({ err: error, lane: this.name }, 'destination not readable, callbacks wait');
      outcome = { kind: 'unknown' };
    }
    this.#active--;
    // If another instance has taken the delivery, that instance retries it. A success of this instance stays valid.
    const failed = outcome.kind !== 'attempted' || outcome.change.status !== 'delivered';
    this.#afterTry(taken, taken.entry.lost && failed ? { kind: 'lost' } : outcome);
    // During a shutdown the deliveries that waited for this one are given back, too.
    if (this.#c.stopping()) this.giveBack();
    this.#health.dispatch(this);
  }

  async #try(entry: QueueEntry, entered: DestinationHealth): Promise<TryOutcome> {
    const { attempts, healths, records, stopping } = this.#c;
    const { id } = entry.delivery;
    let admission: Admission;
    try {
      const mine = records.maySendUnrecorded(id) || (await records.record(id));
      if (!mine) return { kind: 'lost' };
      admission = await attempts.admit(this.name, entry);
    } finally {
      // `send` takes a slot again. No other try can take it in between, because there is no await until then.
      entered.breaker.leave();
    }
    if (admission.kind === 'unset') {
      this.#unset = true;
      healths.unset(this.name);
    }
    if (admission.kind !== 'admitted') return admission;
    this.#unset = false;
    // The address may have changed during the read, or the destination may have begun to fail.
    const health = healths.of(laneParts(this.name).applicationId, admission.to.url.origin);
    this.#attach(health);
    if (stopping() || !health.breaker.mayStart(this.#c.time.monotonicNow())) return { kind: 'deferred' };
    if (records.lacks(id) && (health.breaker.failing || !records.maySendUnrecorded(id))) {
      void records.record(id);
      return { kind: 'deferred' };
    }
    return await attempts.send(entry, admission.to, health);
  }

  #afterTry(taken: Taken, outcome: TryOutcome): void {
    const { settings, memory, random, stopping } = this.#c;
    const { kind } = outcome;
    const crowded = kind === 'blocked' && isCrowded(this.size, this.#window, memory);
    this.#store(this.#queue.afterTry(taken, outcome, { crowded, stopping: stopping() }));
    this.#unknownInARow = kind === 'unknown' ? this.#unknownInARow + 1 : 0;
    if (kind !== 'unset' && kind !== 'unknown') return;
    const pauseMs = lanePauseMs(kind, this.#unknownInARow, settings.unsetRetryMs, random());
    this.#pausedUntilMs = this.#c.time.monotonicNow() + pauseMs;
    if (kind === 'unknown') return;
    this.#expire();
    this.#shrinkTo(this.#window);
  }

  #shrinkTo(limit: number): void {
    const givenBack = this.#queue.shrink(limit);
    if (givenBack.length > 0) this.#maybeMore = true;
    this.#store(givenBack);
  }

  #store(changes: readonly Changed[]): void {
    for (const { delivery, change } of changes) {
      if (change.status === 'dead') this.#c.metrics.dead.inc();
      this.#c.records.change(delivery, change);
    }
  }

  #refill(): void {
    if (!this.#maybeMore || this.#claiming) return;
    const { claims, memory } = this.#c;
    const count = claimCount(this.taken, this.#window, memory, this.#claimedUnits);
    if (count === 0) return;
    this.#claiming = true;
    this.#maybeMore = false;
    void claims.claim(this.name, count).then((answer) => {
      if (answer) {
        this.#maybeMore ||= answer.more;
        if (answer.claimed.length > 0) {
          const units = answer.claimed.reduce((sum, delivery) => sum + windowUnitsOf(delivery), 0);
          this.#claimedUnits = units / answer.claimed.length;
        }
        // A claimed delivery with unstored changes was finished or given back here, and is not queued. Queue and writer
        // are checked in the same tick: otherwise a try that ends in between would be found in neither.
        const notQueued = this.#queue.notQueuedOf(answer.claimed);
        this.accept(notQueued.filter(({ id }) => !this.#c.writer.has(id)));
        this.#expire();
        if (this.#c.stopping()) this.giveBack();
      }
      this.#claiming = false;
      if (answer && answer.claimed.length > 0) this.dispatch();
    });
  }

  #attach(health: DestinationHealth): void {
    this.#attached = true;
    if (health === this.#health) return;
    this.#health.leave(this);
    health.join(this);
    this.#health = health;
  }

  /** Dispatches again at this time, in place of an earlier plan; never if infinite. */
  #wakeAt(atMs: number): void {
    const { time } = this.#c;
    time.clearTimer(this.#timer);
    const delayMs = Math.max(1, atMs - time.monotonicNow());
    this.#timer =
      delayMs < Number.POSITIVE_INFINITY
        ? time.setTimeout(() => this.dispatch(), Math.min(delayMs, 2 ** 31 - 1))
        : undefined;
  }
}
