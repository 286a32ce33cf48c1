import type { Time, Timer } from '@headset-cloud/runtime/clock.ts';
import type { Logger } from '@headset-cloud/runtime/logger.ts';
import type { QueueEntry } from '../domain/chain.ts';
import { type Delivery, laneParts } from '../domain/delivery.ts';
import { lanePauseMs, type TryOutcome } from '../domain/next-step.ts';
import { type TimeLimit, whileNotTaken } from '../domain/time-limit.ts';
import { claimCount, isCrowded, type Memory, windowOf, windowUnitsOf } from '../domain/window.ts';
import type { Admission, Attempts } from './attempts.ts';
import type { Claims } from './claims.ts';
import type { DestinationHealth, DestinationHealths, DestinationUser } from './destination-health.ts';
import { LaneQueue, type Taken } from './lane-queue.ts';
import type { StepRunner } from './step-runner.ts';
import type { Unrecorded } from './unrecorded.ts';

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
  readonly steps: StepRunner;
  readonly claims: Claims;
  readonly unrecorded: Pick<Unrecorded, 'has' | 'mayGo' | 'record'>;
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

/** Works on one application's setting: decides when deliveries start, and refills from the database. */
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
  /** True if the health belongs to the setting's address, as last read. */
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
    this.#queue = new LaneQueue(() => this.dispatch(), context.time);
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

  get #taking(): boolean {
    return !this.#health.breaker.failing && !this.#unset;
  }

  get #window(): number {
    return windowOf(this.#c.settings.windowSize, this.#taking);
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
    this.#usedAtMs = this.#c.time.monotonicNow();
    const patientUntilMs = this.#c.time.monotonicNow() + this.#c.settings.orderWaitMs;
    for (const delivery of deliveries) {
      for (const replaced of this.#queue.add({ delivery, patientUntilMs })) this.#c.steps.replace(replaced);
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

  dispatch(): void {
    const { steps, stopping } = this.#c;
    if (stopping() || steps.full) return;
    const now = this.#c.time.monotonicNow();
    if (now < this.#pausedUntilMs) {
      this.#wakeAt(this.#pausedUntilMs);
      return;
    }
    while (this.#queue.readyCount > 0) {
      const health = this.#health;
      if (!health.breaker.mayStart(now)) {
        if (health.breaker.notBeforeMs > now) this.#wakeAt(health.breaker.notBeforeMs);
        break;
      }
      const taken = this.#queue.take();
      if (!taken) break;
      health.breaker.enter();
      this.#active++;
      void this.#work(taken, health);
    }
    this.#refill();
  }

  /** Releases deliveries whose maximum wait for others is over; gives up deliveries after their time limit. */
  tidy(): void {
    this.#queue.separate(this.#c.time.monotonicNow());
    this.expire();
  }

  /**
   * Gives up deliveries after their time limit while the destination does not accept callbacks, and so frees memory for
   * others.
   */
  expire(): void {
    if (this.#taking) return;
    const { time, settings, steps } = this.#c;
    const { probes } = this.#health;
    const unset = this.#unset;
    const recent = unset ? 'no address' : probes.recent;
    const now = time.now();
    let tooFew = false;
    const isOver = ({ delivery }: QueueEntry) => {
      const standing = whileNotTaken(delivery, recent, now, settings.limit);
      tooFew ||= standing === 'too few attempts';
      return standing === 'over';
    };
    const reason = unset ? 'destination not set' : 'destination failing';
    for (const entry of this.#queue.pick(isOver)) steps.giveUp(entry, reason);
    // Other instances, and this one before its start, may have made more probes than are known here.
    if (tooFew) void probes.refresh()?.then(() => this.expire());
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
    // The new owner retries it. A delivery from here stays valid.
    const failed = outcome.kind !== 'attempted' || outcome.change.status !== 'delivered';
    this.#follow(taken, taken.entry.lost && failed ? { kind: 'lost' } : outcome);
    // Later deliveries in the order do not wait for another one any more.
    if (this.#c.stopping()) this.giveBack();
    this.#health.dispatch(this);
  }

  async #try(entry: QueueEntry, entered: DestinationHealth): Promise<TryOutcome> {
    const { attempts, healths, unrecorded, stopping } = this.#c;
    const { id } = entry.delivery;
    let admission: Admission;
    try {
      const mine = unrecorded.mayGo(id) || (await unrecorded.record(id));
      if (!mine) return { kind: 'lost' };
      admission = await attempts.admit(this.name, entry);
    } finally {
      // Frees the slot for this try itself before any other can take it: no await follows until `send`.
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
    if (unrecorded.has(id) && (health.breaker.failing || !unrecorded.mayGo(id))) {
      void unrecorded.record(id);
      return { kind: 'deferred' };
    }
    return await attempts.send(entry, admission.to, health);
  }

  #follow(taken: Taken, outcome: TryOutcome): void {
    const { settings, steps, memory, random, stopping } = this.#c;
    const { kind } = outcome;
    const crowded = kind === 'blocked' && isCrowded(this.size, this.#window, memory);
    steps.follow(this.#queue, taken, outcome, { crowded, stopping: stopping() });
    this.#unknownInARow = kind === 'unknown' ? this.#unknownInARow + 1 : 0;
    if (kind !== 'unset' && kind !== 'unknown') return;
    const pauseMs = lanePauseMs(kind, this.#unknownInARow, settings.unsetRetryMs, random());
    this.#pausedUntilMs = this.#c.time.monotonicNow() + pauseMs;
    if (kind === 'unknown') return;
    this.expire();
    this.#shrinkTo(this.#window);
  }

  #shrinkTo(limit: number): void {
    const evicted = this.#queue.shrink(limit);
    if (evicted.length > 0) this.#maybeMore = true;
    this.#c.steps.giveBack(evicted);
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
        // A delivery with unstored changes was finished here, or given back. Queue and writer are asked in the same
        // tick: otherwise a try that ends in between would be missing in both.
        const unknown = this.#queue.unknownOf(answer.claimed);
        this.accept(unknown.filter(({ id }) => !this.#c.steps.isUnstored(id)));
        this.expire();
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

  #wakeAt(atMs: number): void {
    this.#c.time.clearTimer(this.#timer);
    this.#timer = this.#c.time.setTimeout(
      () => this.dispatch(),
      Math.max(1, Math.min(atMs - this.#c.time.monotonicNow(), 2 ** 31 - 1)),
    );
  }
}
