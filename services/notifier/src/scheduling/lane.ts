import type { Time, Timer } from '@headset-cloud/kit/clock.ts';
import type { Logger } from '@headset-cloud/kit/logger.ts';
import type { QueueEntry } from '../domain/chain.ts';
import { type Delivery, laneParts } from '../domain/delivery.ts';
import { lanePauseMs, type TryOutcome } from '../domain/next-step.ts';
import { type TimeLimit, whileNotTaken } from '../domain/time-limit.ts';
import { claimCount, isCrowded, type Memory, placesOf, windowOf } from '../domain/window.ts';
import type { Admission, Attempts } from './attempts.ts';
import type { Claims } from './claims.ts';
import type { DestinationHealth, DestinationHealths, DestinationUser } from './destination-health.ts';
import { LaneQueue, type Taken } from './lane-queue.ts';
import type { StepRunner } from './step-runner.ts';
import type { Unrecorded } from './unrecorded.ts';

/** What is configured for every lane. */
export interface LaneSettings {
  readonly limit: TimeLimit;
  /** For how long at most a delivery waits here for first attempts of others (rule A20). */
  readonly orderWaitMs: number;
  /** Deliveries in memory while the destination takes callbacks. */
  readonly windowSize: number;
  readonly unsetRetryMs: number;
}

/** What lanes share. */
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

/** What goes within so many turns of its destination's cap is not stored before; most are over in a second. */
const turnsSoon = 4;
/** So long a lane is kept that has nothing to do: what it knows of its destination lets the next callback go first. */
const keptForMs = 60_000;

/** Works on one application's setting: when what starts, and refills from the database. */
export class Lane implements DestinationUser {
  readonly name: string;
  readonly #c: LaneContext;
  readonly #queue: LaneQueue;
  #health: DestinationHealth;
  /** When deliveries came last; by the monotonic clock. */
  #usedAtMs: number;
  /** Places that are planned for deliveries to come. */
  #expected = 0;
  /** Tries that are under way. */
  #active = 0;
  /** There may be unowned work in the database. */
  #maybeMore = false;
  #claiming = false;
  #pulling = 0;
  /** Places that each of the last claimed ones takes. */
  #claimedPlaces = 1;
  /** The health is that of the setting's address, as of the last look. */
  #attached = false;
  /** The setting has no address or key, as of the last look. */
  #unset = false;
  #unknownInARow = 0;
  /** By the monotonic clock, like the circuit breaker's times: a clock that is set back must not stop the lane. */
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

  /** Places that are taken, or will be by what was planned for this lane. */
  get taken(): number {
    return this.size + this.#expected;
  }

  /** So many places more, or fewer, are planned for deliveries that come after they are stored. */
  expect(places: number): void {
    this.#expected += places;
  }

  /** True while a try or a question to the database is under way. */
  get busy(): boolean {
    return this.#active > 0 || this.#claiming || this.#pulling > 0;
  }

  /** True when nothing would be lost by forgetting the lane: it was not used for a while, either. */
  get idle(): boolean {
    const unused = this.#c.time.monotonicNow() - this.#usedAtMs > keptForMs;
    return unused && this.taken === 0 && !this.busy && !this.#health.breaker.failing;
  }

  /** How many more it would take now; none while older ones wait in the database. */
  get room(): number {
    return this.#maybeMore || this.#claiming ? 0 : Math.max(0, this.#window - this.taken);
  }

  get #taking(): boolean {
    return !this.#health.breaker.failing && !this.#unset;
  }

  get #window(): number {
    return windowOf(this.#c.settings.windowSize, this.#taking);
  }

  /**
   * How many more could go soon to a destination that is known to be set and to take callbacks; of those the record
   * may come after the attempt.
   */
  get roomSoon(): number {
    const now = this.#c.time.monotonicNow();
    const { breaker } = this.#health;
    if (this.#unset || !this.#attached || now < Math.max(this.#pausedUntilMs, breaker.notBeforeMs)) return 0;
    return Math.min(this.room, breaker.roomFor(turnsSoon) - this.#queue.readyCount);
  }

  entries(): Iterable<QueueEntry> {
    return this.#queue.entries();
  }

  /** Takes in deliveries that this instance owns. */
  accept(deliveries: readonly Delivery[]): void {
    this.#usedAtMs = this.#c.time.monotonicNow();
    const patientUntilMs = this.#c.time.monotonicNow() + this.#c.settings.orderWaitMs;
    for (const delivery of deliveries) {
      for (const replaced of this.#queue.add({ delivery, patientUntilMs })) this.#c.steps.replace(replaced);
    }
  }

  /** There may be unowned work in the database. */
  foundWork(): void {
    this.#maybeMore = true;
  }

  /** Another instance took it. */
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

  /** Lets go what has waited long enough for others; gives up what is over its time. */
  tidy(): void {
    this.#queue.separate(this.#c.time.monotonicNow());
    this.expire();
  }

  /** Gives up what is over its time while the destination does not take callbacks, and lets others in. */
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
    // Other instances, and this one before its start, may have probed it more often than is known here.
    if (tooFew) void probes.refresh()?.then(() => this.expire());
  }

  /** Gives everything that is not being worked on back to the database. */
  giveBack(): void {
    this.#queue.wakeAll();
    this.#shrinkTo(0);
  }

  /** Gives everything back; to be called before it is forgotten. */
  close(): void {
    this.giveBack();
    this.detach();
  }

  failing(): void {
    this.#shrinkTo(this.#window);
  }

  /** What waits for a later attempt is tried now. */
  recovered(): void {
    this.#queue.wakeAll();
    this.#pulling++;
    void this.#c.claims.pullForward(this.name).then((pulled) => {
      this.#maybeMore ||= pulled;
      this.#pulling--;
      this.dispatch();
    });
  }

  /** To be called when the lane is forgotten. */
  detach(): void {
    this.#c.time.clearTimer(this.#timer);
    this.#health.leave(this);
  }

  async #work(taken: Taken, entered: DestinationHealth): Promise<void> {
    let outcome: TryOutcome;
    try {
      outcome = await this.#try(taken.entry, entered);
    } catch (error) {
      // The database or devices is away: no attempt. #try has left the circuit breaker.
      this.#c.logger.warn(
        { err: error, lane: this.name },
        'callbacks wait: their destination cannot be read',
      );
      outcome = { kind: 'unknown' };
    }
    this.#active--;
    // Whoever has it now tries it again; that it was delivered here is true all the same.
    const failed = outcome.kind !== 'attempted' || outcome.change.status !== 'delivered';
    this.#follow(taken, taken.entry.lost && failed ? { kind: 'lost' } : outcome);
    // What came behind it in order waits for no other any more.
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
      // Its place is free for this try itself before any other can take it: no await follows until `send`.
      entered.breaker.leave();
    }
    if (admission.kind === 'unset') {
      this.#unset = true;
      healths.unset(this.name);
    }
    if (admission.kind !== 'admitted') return admission;
    this.#unset = false;
    // Meanwhile the address may have changed, or the destination begun to fail.
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
    const count = claimCount(this.taken, this.#window, memory, this.#claimedPlaces);
    if (count === 0) return;
    this.#claiming = true;
    this.#maybeMore = false;
    void claims.claim(this.name, count).then((answer) => {
      if (answer) {
        this.#maybeMore ||= answer.more;
        if (answer.claimed.length > 0) {
          const places = answer.claimed.reduce((sum, delivery) => sum + placesOf(delivery), 0);
          this.#claimedPlaces = places / answer.claimed.length;
        }
        // What is not stored yet is finished here, or given back. Queue and writer are asked in one turn: a
        // try that ended between the two questions would be known to neither.
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
