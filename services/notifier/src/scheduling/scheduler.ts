import type { Time, Timer } from '@headset-cloud/runtime/clock.ts';
import type { Logger } from '@headset-cloud/runtime/logger.ts';
import { type Delivery, laneOf } from '../domain/delivery.ts';
import { windowUnitsOf } from '../domain/window.ts';
import type { NotifierMetrics } from '../metrics.ts';
import type { DeliveryStore } from '../ports/delivery-store.ts';
import type { Attempts } from './attempts.ts';
import type { ChangeWriter } from './change-writer.ts';
import { Claims } from './claims.ts';
import type { DeliveryRecords } from './delivery-records.ts';
import type { DestinationHealths } from './destination-health.ts';
import type { FinishedOrders } from './finished-orders.ts';
import { Lane, type LaneContext, type LaneSettings } from './lane.ts';
import { LeaseRenewal } from './lease-renewal.ts';

export interface SchedulerOptions {
  readonly time: Time;
  readonly logger: Logger;
  readonly random: () => number;
  readonly instanceId: string;
  readonly store: DeliveryStore;
  readonly writer: ChangeWriter;
  readonly finished: FinishedOrders;
  readonly records: DeliveryRecords;
  readonly metrics: Pick<NotifierMetrics, 'dead'>;
  readonly attempts: Attempts;
  readonly healths: DestinationHealths;
  readonly lanes: LaneSettings;
  readonly leaseMs: number;
  readonly sweepMs: number;
  /** Maximum window units in memory, of all lanes (window.ts). */
  readonly maxInMemory: number;
  /** Longest time until a next attempt; milliseconds. */
  readonly longestPauseMs: number;
}

/** Plan for new deliveries. */
export interface Plan {
  readonly toStore: readonly Delivery[];
  readonly toSend: readonly Delivery[];
  /** Must be called when they are accepted, or will not be accepted. */
  done(): void;
}

/** Time of a shutdown without an external limit, after which requests in flight are aborted; milliseconds. */
const defaultStopMs = 4000;
/** Part of a shutdown's time that is kept for giving back and storing after the abort; milliseconds. */
const flushMs = 700;
const flushShare = 0.2;

/** The database is searched for impossible times at this interval, as a multiple of the lease. */
const correctAfterLeases = 6;

/**
 * Sends due deliveries: accepts new deliveries, claims due deliveries from the database, and renews leases. The
 * database contains due deliveries that had no free memory or waited for their next attempt, or whose owner crashed.
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
    const { time, maxInMemory } = options;
    this.#context = {
      ...options,
      settings: options.lanes,
      claims: new Claims({ ...options, clock: time }),
      memory: { max: maxInMemory, free: () => this.#free() },
      stopping: () => this.#stopping,
    };
    this.#leases = new LeaseRenewal({ ...options, holders: () => this.#lanes.values() });
  }

  start(): void {
    this.#sweepSoon(0);
    this.#leases.start();
  }

  /**
   * Decides for each new delivery whether this instance takes it at once (then this instance is its owner), or whether
   * it waits in the database. If the batch belongs to this instance (`held`), also decides which deliveries may be sent
   * before they are stored (ADR 0050). Reserves memory until `done` is called.
   */
  plan(deliveries: readonly Delivery[], held: boolean): Plan {
    const planned = this.#withOwners(deliveries);
    const freeSoon = new Map<string, number>();
    let unrecorded = held && !this.#stopping && !this.#o.writer.full ? this.#o.records.free : 0;
    const maySendUnrecorded = ({ applicationId, destination, order, replaceable, owner }: Delivery) => {
      const name = laneOf(applicationId, destination);
      const left = freeSoon.get(name) ?? this.#lane(name).freeSoon;
      const maySend = owner !== null && order !== 'tried' && !replaceable && left > 0 && unrecorded > 0;
      // If one delivery of a lane must be stored first, all later ones must be, too.
      freeSoon.set(name, maySend ? left - 1 : 0);
      if (maySend) unrecorded--;
      return maySend;
    };
    const { toSend = [], toStore = [] } = Object.groupBy(planned, (delivery) =>
      maySendUnrecorded(delivery) ? 'toSend' : 'toStore',
    );
    const expected = planned.filter(({ owner }) => owner !== null);
    const { records } = this.#o;
    this.#expect(expected, 1);
    records.expect(toSend.length);
    return {
      ...{ toSend, toStore },
      done: () => {
        this.#expect(expected, -1);
        records.expect(-toSend.length);
      },
    };
  }

  #expect(deliveries: readonly Delivery[], sign: 1 | -1): void {
    for (const delivery of deliveries) {
      const { applicationId, destination } = delivery;
      this.#lane(laneOf(applicationId, destination)).expect(sign * windowUnitsOf(delivery));
    }
  }

  #withOwners(deliveries: readonly Delivery[]): Delivery[] {
    const now = this.#o.time.now();
    const free = new Map<string, number>();
    let total = this.#free();
    return deliveries.map((delivery) => {
      const name = laneOf(delivery.applicationId, delivery.destination);
      const left = free.get(name) ?? this.#lane(name).free;
      const taken = left > 0 && total > 0 && !this.#stopping;
      // If one delivery of a lane has to wait, all later ones wait, too, so that the oldest is sent first.
      const units = windowUnitsOf(delivery);
      free.set(name, taken ? left - units : 0);
      if (!taken) return { ...delivery, owner: null };
      total -= units;
      return { ...delivery, owner: this.#o.instanceId, dueAtMs: now + this.#o.leaseMs };
    });
  }

  /** Starts planned deliveries: those that are stored, and those that are sent before they are stored. */
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

  /** Records that a lane has work without an owner that is due now. */
  foundWork(name: string): void {
    const lane = this.#lane(name);
    lane.foundWork();
    lane.dispatch();
  }

  /**
   * Starts nothing more, and gives back at once the deliveries that are not in flight, so that another instance sends
   * them.
   */
  retire(): void {
    this.#stopping = true;
    this.#o.time.clearTimer(this.#sweepTimer);
    for (const lane of this.#lanes.values()) lane.giveBack();
  }

  /**
   * Stops within `forMs`: lets requests in flight end, then aborts the rest, and gives all other deliveries back. A
   * delivery that waits for an earlier one is given back when the request of the earlier one has ended.
   */
  async stop(forMs = defaultStopMs): Promise<void> {
    const endsAtMs = this.#o.time.monotonicNow() + forMs;
    this.retire();
    const lastMs = Math.min(flushMs, forMs * flushShare);
    await this.#drained(forMs - 3 * lastMs);
    this.#o.attempts.abort();
    await this.#drained(lastMs);
    this.#leases.stop();
    this.#o.records.stop();
    await Promise.race([this.#sweeping, this.#o.time.sleep(lastMs, { ref: false })]);
    for (const lane of this.#lanes.values()) lane.close();
    // A delivery that is not stored as given back waits until its lease expires, so storing gets all the remaining
    // time.
    await this.#o.writer.flush(Math.max(lastMs, endsAtMs - this.#o.time.monotonicNow()));
  }

  /** Resolves when no try and no claim is running, or after `timeoutMs`. */
  async #drained(timeoutMs: number): Promise<void> {
    const end = this.#o.time.monotonicNow() + timeoutMs;
    const active = () => [...this.#lanes.values()].some((lane) => lane.busy);
    while (active() && this.#o.time.monotonicNow() < end) await this.#o.time.sleep(5);
  }

  #lane(name: string): Lane {
    let lane = this.#lanes.get(name);
    if (!lane) {
      lane = new Lane(name, this.#context);
      this.#lanes.set(name, lane);
    }
    return lane;
  }

  #free(): number {
    let queued = 0;
    for (const lane of this.#lanes.values()) queued += lane.taken;
    return this.#o.maxInMemory - queued;
  }

  #sweepSoon(delayMs: number): void {
    this.#sweepTimer = this.#o.time.setTimeout(() => {
      const started = this.#o.time.monotonicNow();
      this.#sweeping = this.#sweep()
        .catch((error) => this.#o.logger.warn({ err: error }, 'search for due callbacks failed'))
        .then(() => {
          // With very many lanes the search takes long. It then uses at most 20 % of the time.
          if (!this.#stopping)
            this.#sweepSoon(Math.max(this.#o.sweepMs, 4 * (this.#o.time.monotonicNow() - started)));
        });
    }, delayMs);
  }

  /** Checks each lane with undelivered work; one indexed query per lane. */
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

  /** Times later than any planned time come from a fast clock, or from before a clock step back. */
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
