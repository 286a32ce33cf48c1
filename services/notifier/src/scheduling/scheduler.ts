import type { Clock } from '@headset-cloud/kit/clock.ts';
import type { Logger } from '@headset-cloud/kit/logger.ts';
import type { Held } from '../domain/chain.ts';
import { type Delivery, laneOf } from '../domain/delivery.ts';
import type { DeliveryStore } from '../ports.ts';
import type { Attempts } from './attempts.ts';
import type { Gates } from './gates.ts';
import { Lane } from './lane.ts';
import type { LaneContext } from './lane-context.ts';
import type { Marks } from './marks.ts';

export interface SchedulerOptions extends Omit<LaneContext, 'room' | 'stopping'> {
  readonly sweepMs: number;
  /** No next attempt is planned further ahead. */
  readonly longestPauseMs: number;
}

/** After this long a shutdown cuts off the requests that are on their way. */
const drainMs = 2000;
const flushMs = 700;

/** After so many leases the database is searched for times that cannot be. */
const correctAfterLeases = 6;

/** Leases that one write renews. */
const renewAtOnce = 100;

/**
 * Sends what is due: takes in what this instance has just stored, claims what lies in the database
 * unowned (spilled, waited, or left by a crashed instance), and keeps its leases.
 */
export class Scheduler {
  readonly #clock: Clock;
  readonly #logger: Logger;
  readonly #store: DeliveryStore;
  readonly #marks: Marks;
  readonly #attempts: Attempts;
  readonly #gates: Gates;
  readonly #leaseMs: number;
  readonly #sweepMs: number;
  readonly #maxInMemory: number;
  readonly #context: LaneContext;
  readonly #lanes = new Map<string, Lane>();
  readonly #longestPauseMs: number;
  #correctedAt = Number.NEGATIVE_INFINITY;
  #stopping = false;
  #sweepTimer: NodeJS.Timeout | undefined;
  #leaseTimer: NodeJS.Timeout | undefined;
  #renewing = false;
  #sweeping: Promise<void> = Promise.resolve();

  constructor(options: SchedulerOptions) {
    this.#clock = options.clock;
    this.#logger = options.logger;
    this.#store = options.store;
    this.#marks = options.marks;
    this.#attempts = options.attempts;
    this.#gates = options.gates;
    this.#leaseMs = options.leaseMs;
    this.#sweepMs = options.sweepMs;
    this.#longestPauseMs = options.longestPauseMs;
    this.#maxInMemory = options.maxInMemory;
    this.#context = { ...options, room: () => this.#room(), stopping: () => this.#stopping };
    options.marks.onRoom = () => this.#dispatchAll();
  }

  start(): void {
    this.#sweepSoon(0);
    this.#leaseTimer = setInterval(() => void this.#renewLeases(), this.#leaseMs / 3);
  }

  /**
   * Says for each new delivery whether this instance takes it at once (it is then stored with this
   * instance as its owner), or whether it is to wait in the database.
   */
  plan(deliveries: readonly Delivery[]): Delivery[] {
    const now = this.#clock.now();
    const room = new Map<string, number>();
    let total = this.#room();
    return deliveries.map((delivery) => {
      const name = laneOf(delivery.applicationId, delivery.destination);
      const left = room.get(name) ?? this.#lane(name).room;
      const taken = left > 0 && total > 0 && !this.#stopping;
      // When one had to wait, those after it wait too, so that the older goes first.
      room.set(name, taken ? left - 1 : 0);
      if (!taken) return { ...delivery, owner: null };
      total--;
      return { ...delivery, owner: this.#context.instanceId, dueAtMs: now + this.#leaseMs };
    });
  }

  /** Starts on what was planned and is stored now. */
  accept(deliveries: readonly Delivery[]): void {
    const lanes = new Map<Lane, Pick<Held, 'delivery' | 'leaseUntilMs'>[]>();
    for (const delivery of deliveries) {
      const lane = this.#lane(laneOf(delivery.applicationId, delivery.destination));
      const held = lanes.get(lane) ?? [];
      lanes.set(lane, held);
      if (delivery.owner === null) lane.foundWork();
      else held.push({ delivery, leaseUntilMs: delivery.dueAtMs });
    }
    for (const [lane, held] of lanes) {
      lane.accept(held);
      lane.dispatch();
    }
  }

  /** There is unowned work in a lane, due now. */
  foundWork(name: string): void {
    const lane = this.#lane(name);
    lane.foundWork();
    lane.dispatch();
  }

  /** Starts nothing more, lets requests on their way end (for a bounded time), gives everything back. */
  async stop(): Promise<void> {
    this.#stopping = true;
    clearTimeout(this.#sweepTimer);
    await this.#settled(drainMs);
    this.#attempts.cut();
    await this.#settled(flushMs);
    clearInterval(this.#leaseTimer);
    await Promise.race([this.#sweeping, new Promise((resolve) => setTimeout(resolve, flushMs).unref())]);
    for (const lane of this.#lanes.values()) {
      lane.close();
      lane.detach();
    }
    await this.#marks.flush(flushMs);
  }

  async #settled(timeoutMs: number): Promise<void> {
    const end = performance.now() + timeoutMs;
    const active = () => [...this.#lanes.values()].some((lane) => lane.active > 0);
    while (active() && performance.now() < end) await new Promise((resolve) => setTimeout(resolve, 5));
  }

  #lane(name: string): Lane {
    let lane = this.#lanes.get(name);
    if (!lane) {
      lane = new Lane(name, this.#context);
      this.#lanes.set(name, lane);
    }
    return lane;
  }

  #room(): number {
    let held = 0;
    for (const lane of this.#lanes.values()) held += lane.size;
    return this.#maxInMemory - held;
  }

  #dispatchAll(): void {
    for (const lane of this.#lanes.values()) lane.dispatch();
  }

  #sweepSoon(delayMs: number): void {
    this.#sweepTimer = setTimeout(() => {
      const started = performance.now();
      this.#sweeping = this.#sweep()
        .catch((error) => this.#logger.warn({ err: error }, 'search for due callbacks failed'))
        .then(() => {
          // With very many lanes the search takes long: it then gets at most a fifth of the time.
          if (!this.#stopping) this.#sweepSoon(Math.max(this.#sweepMs, 4 * (performance.now() - started)));
        });
    }, delayMs);
  }

  /** Looks at each lane that has undelivered work; one indexed query a lane. */
  async #sweep(): Promise<void> {
    for (const [name, lane] of this.#lanes) {
      lane.tidy();
      lane.dispatch();
      if (!lane.idle) continue;
      lane.detach();
      this.#lanes.delete(name);
    }
    this.#gates.tidy();
    const correcting = performance.now() - this.#correctedAt > correctAfterLeases * this.#leaseMs;
    if (correcting) this.#correctedAt = performance.now();
    let after = '';
    while (!this.#stopping) {
      const work = await this.#store.nextLaneWithWork(after);
      if (!work) return;
      after = work.lane;
      const recalled = correcting && (await this.#recall(work.lane));
      if (recalled || work.dueAtMs <= this.#clock.now()) this.foundWork(work.lane);
    }
  }

  /** Times further ahead than any are made come from a clock that was ahead, or from before a step back. */
  #recall(lane: string): Promise<boolean> {
    const now = this.#clock.now();
    const margin = 3 * this.#leaseMs;
    return this.#store.recall(lane, now, now + this.#leaseMs + margin, now + this.#longestPauseMs + margin);
  }

  async #renewLeases(): Promise<void> {
    // A database that is slow is not asked again before it has answered: that would make it slower still.
    if (this.#renewing) return;
    this.#renewing = true;
    const until = this.#clock.now() + this.#leaseMs;
    const aging: [Lane, Held][] = [];
    for (const lane of this.#lanes.values()) {
      for (const held of lane.held()) {
        // Or it was taken by a clock that has been set back since: others see it run out.
        const off = held.leaseUntilMs - until;
        if (off < -this.#leaseMs / 4 || off > this.#leaseMs) aging.push([lane, held]);
      }
    }
    try {
      // In portions: one large write would hold up the callbacks that can go.
      for (let at = 0; at < aging.length; at += renewAtOnce) {
        const portion = aging.slice(at, at + renewAtOnce);
        const mine = await this.#store.renew(
          portion.map(([, held]) => held.delivery.id),
          until,
        );
        for (const [lane, held] of portion) {
          if (mine.has(held.delivery.id)) held.leaseUntilMs = until;
          else lane.drop(held);
        }
      }
    } catch (error) {
      this.#logger.warn({ err: error }, 'leases of callbacks not renewed');
    } finally {
      this.#renewing = false;
    }
  }
}
