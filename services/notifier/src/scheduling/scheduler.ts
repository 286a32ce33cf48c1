import type { Time, Timer } from '@headset-cloud/kit/clock.ts';
import type { Logger } from '@headset-cloud/kit/logger.ts';
import { type Delivery, laneOf } from '../domain/delivery.ts';
import { placesOf } from '../domain/window.ts';
import type { DeliveryStore } from '../ports.ts';
import type { Attempts } from './attempts.ts';
import type { ChangeWriter } from './change-writer.ts';
import { Claims } from './claims.ts';
import type { DestinationHealths } from './destination-health.ts';
import type { FinishedOrders } from './finished-orders.ts';
import { Lane, type LaneContext, type LaneSettings } from './lane.ts';
import { LeaseRenewal } from './lease-renewal.ts';
import { StepRunner } from './step-runner.ts';
import type { Unrecorded } from './unrecorded.ts';

export interface SchedulerOptions {
  readonly time: Time;
  readonly logger: Logger;
  readonly random: () => number;
  readonly instanceId: string;
  readonly store: DeliveryStore;
  readonly writer: ChangeWriter;
  readonly finished: FinishedOrders;
  readonly unrecorded: Unrecorded;
  /** A delivery is given up. */
  readonly onDead: () => void;
  readonly attempts: Attempts;
  readonly healths: DestinationHealths;
  readonly lanes: LaneSettings;
  readonly leaseMs: number;
  readonly sweepMs: number;
  /** Deliveries in memory, of all lanes, in places (window.ts). */
  readonly maxInMemory: number;
  /** No next attempt is planned further ahead. */
  readonly longestPauseMs: number;
}

/** What is to be done with new deliveries. */
export interface Plan {
  readonly toStore: readonly Delivery[];
  readonly toSend: readonly Delivery[];
  /** To be called once they are accepted, or will not be. */
  done(): void;
}

/** Without a limit from outside, a shutdown cuts off the requests that are on their way after this long. */
const defaultStopMs = 4000;
/** The part of a shutdown's time that is kept for what follows on a cut: giving back, and storing it. */
const flushMs = 700;
const flushShare = 0.2;

/** After so many leases the database is searched for times that cannot be. */
const correctAfterLeases = 6;

/**
 * Sends what is due: takes in what this instance has just stored, claims what lies in the database
 * unowned (spilled, waited, or left by a crashed instance), and keeps its leases.
 */
export class Scheduler {
  readonly #o: SchedulerOptions;
  readonly #context: LaneContext;
  readonly #lanes = new Map<string, Lane>();
  readonly #leases: LeaseRenewal;
  #correctedAt = Number.NEGATIVE_INFINITY;
  #stopping = false;
  #sweepTimer: Timer | undefined;
  #sweeping: Promise<void> = Promise.resolve();

  constructor(options: SchedulerOptions) {
    this.#o = options;
    const { time, logger, random, attempts, healths, unrecorded, maxInMemory } = options;
    this.#context = {
      ...{ time, logger, random, attempts, healths, unrecorded },
      settings: options.lanes,
      steps: new StepRunner({ ...options, clock: time }),
      claims: new Claims({ ...options, clock: time }),
      memory: { max: maxInMemory, room: () => this.#room() },
      stopping: () => this.#stopping,
    };
    this.#leases = new LeaseRenewal({ ...options, holders: () => this.#lanes.values() });
    options.writer.onRoom = () => this.#dispatchAll();
    options.writer.onRecorded = (id, lost) => {
      unrecorded.recorded(id, lost);
      if (lost) this.#drop(id);
    };
  }

  start(): void {
    this.#sweepSoon(0);
    this.#leases.start();
  }

  /**
   * Says for each new delivery whether this instance takes it at once (it then has this instance as its
   * owner), or whether it is to wait in the database; and, if the batch is surely this instance's, which of those
   * that it takes may go out before they are stored (ADR 0050). Keeps room for them until `done` is called.
   */
  plan(deliveries: readonly Delivery[], held: boolean): Plan {
    const planned = this.#withOwners(deliveries);
    const soon = new Map<string, number>();
    let unrecorded = held && !this.#stopping && !this.#o.writer.full ? this.#o.unrecorded.room : 0;
    const goesSoon = ({ applicationId, destination, order, replaceable, owner }: Delivery) => {
      const name = laneOf(applicationId, destination);
      const left = soon.get(name) ?? this.#lane(name).roomSoon;
      const goes = owner !== null && order !== 'tried' && !replaceable && left > 0 && unrecorded > 0;
      // When one has to be stored first, those after it have, too.
      soon.set(name, goes ? left - 1 : 0);
      if (goes) unrecorded--;
      return goes;
    };
    const { toSend = [], toStore = [] } = Object.groupBy(planned, (delivery) =>
      goesSoon(delivery) ? 'toSend' : 'toStore',
    );
    const expected = planned.filter(({ owner }) => owner !== null);
    const { unrecorded: taking } = this.#o;
    this.#expect(expected, 1);
    taking.expect(toSend.length);
    return {
      ...{ toSend, toStore },
      done: () => {
        this.#expect(expected, -1);
        taking.expect(-toSend.length);
      },
    };
  }

  #expect(deliveries: readonly Delivery[], sign: 1 | -1): void {
    for (const delivery of deliveries) {
      const { applicationId, destination } = delivery;
      this.#lane(laneOf(applicationId, destination)).expect(sign * placesOf(delivery));
    }
  }

  #withOwners(deliveries: readonly Delivery[]): Delivery[] {
    const now = this.#o.time.now();
    const room = new Map<string, number>();
    let total = this.#room();
    return deliveries.map((delivery) => {
      const name = laneOf(delivery.applicationId, delivery.destination);
      const left = room.get(name) ?? this.#lane(name).room;
      const taken = left > 0 && total > 0 && !this.#stopping;
      // When one had to wait, those after it wait too, so that the older goes first.
      const places = placesOf(delivery);
      room.set(name, taken ? left - places : 0);
      if (!taken) return { ...delivery, owner: null };
      total -= places;
      return { ...delivery, owner: this.#o.instanceId, dueAtMs: now + this.#o.leaseMs };
    });
  }

  /** Starts on what was planned, and is stored now or may be later. */
  accept(deliveries: readonly Delivery[]): void {
    const lanes = new Map<Lane, Delivery[]>();
    for (const delivery of deliveries) {
      const lane = this.#lane(laneOf(delivery.applicationId, delivery.destination));
      const owned = lanes.get(lane) ?? [];
      lanes.set(lane, owned);
      if (delivery.owner === null) lane.foundWork();
      else owned.push(delivery);
    }
    for (const [lane, owned] of lanes) {
      lane.accept(owned);
      lane.dispatch();
    }
  }

  /** There is unowned work in a lane, due now. */
  foundWork(name: string): void {
    const lane = this.#lane(name);
    lane.foundWork();
    lane.dispatch();
  }

  /** Starts nothing more, and gives back at once what is not on its way, so that another instance sends it. */
  retire(): void {
    this.#stopping = true;
    this.#o.time.clearTimer(this.#sweepTimer);
    for (const lane of this.#lanes.values()) lane.giveBack();
  }

  /**
   * Lets requests on their way end, for `forMs` at most, and gives the rest back: what waited for them in
   * order as they end, what is cut off at last.
   */
  async stop(forMs = defaultStopMs): Promise<void> {
    const endsAtMs = this.#o.time.monotonicNow() + forMs;
    this.retire();
    const lastMs = Math.min(flushMs, forMs * flushShare);
    await this.#drained(forMs - 3 * lastMs);
    this.#o.attempts.cut();
    await this.#drained(lastMs);
    this.#leases.stop();
    this.#o.unrecorded.stop();
    await Promise.race([this.#sweeping, this.#o.time.sleep(lastMs, { ref: false })]);
    for (const lane of this.#lanes.values()) lane.close();
    // What is not stored as given back waits for a lease to lapse: it gets all the time that is left.
    await this.#o.writer.flush(Math.max(lastMs, endsAtMs - this.#o.time.monotonicNow()));
  }

  /** Resolves when no try and no claim is under way, or after `timeoutMs`. */
  async #drained(timeoutMs: number): Promise<void> {
    const end = this.#o.time.monotonicNow() + timeoutMs;
    const active = () => [...this.#lanes.values()].some((lane) => lane.busy);
    while (active() && this.#o.time.monotonicNow() < end) await this.#o.time.sleep(5);
  }

  /** Another instance has it. */
  #drop(id: string): void {
    for (const lane of this.#lanes.values()) {
      for (const entry of lane.entries()) if (entry.delivery.id === id) lane.drop(entry);
    }
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
    let queued = 0;
    for (const lane of this.#lanes.values()) queued += lane.taken;
    return this.#o.maxInMemory - queued;
  }

  #dispatchAll(): void {
    for (const lane of this.#lanes.values()) lane.dispatch();
  }

  #sweepSoon(delayMs: number): void {
    this.#sweepTimer = this.#o.time.setTimeout(() => {
      const started = this.#o.time.monotonicNow();
      this.#sweeping = this.#sweep()
        .catch((error) => this.#o.logger.warn({ err: error }, 'search for due callbacks failed'))
        .then(() => {
          // With very many lanes the search takes long: it then gets at most a fifth of the time.
          if (!this.#stopping)
            this.#sweepSoon(Math.max(this.#o.sweepMs, 4 * (this.#o.time.monotonicNow() - started)));
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
    this.#o.healths.tidy();
    const correcting = this.#o.time.monotonicNow() - this.#correctedAt > correctAfterLeases * this.#o.leaseMs;
    if (correcting) this.#correctedAt = this.#o.time.monotonicNow();
    let after = '';
    while (!this.#stopping) {
      const work = await this.#o.store.nextLaneWithWork(after);
      if (!work) return;
      after = work.lane;
      const recalled = correcting && (await this.#recall(work.lane));
      if (recalled || work.dueAtMs <= this.#o.time.now()) this.foundWork(work.lane);
    }
  }

  /** Times further ahead than any are made come from a clock that was ahead, or from before a step back. */
  #recall(lane: string): Promise<boolean> {
    const now = this.#o.time.now();
    const margin = 3 * this.#o.leaseMs;
    return this.#o.store.recall(
      lane,
      now,
      now + this.#o.leaseMs + margin,
      now + this.#o.longestPauseMs + margin,
    );
  }
}
