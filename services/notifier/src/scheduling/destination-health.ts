import { systemTime, type Time } from '@headset-cloud/runtime/clock.ts';
import type { Logger } from '@headset-cloud/runtime/logger.ts';
import { type AttemptReason, reasonOf } from '../domain/attempt-reason.ts';
import { type BreakerRules, CircuitBreaker } from '../domain/circuit-breaker.ts';
import type { AttemptOutcome, AttemptResult } from '../domain/outcome.ts';
import type { Probes } from './probes.ts';

/** A lane that sends to a destination, and is notified when its state changes. */
export interface DestinationUser {
  /** The lane. */
  readonly name: string;
  /** Starts deliveries that may start now. */
  dispatch(): void;
  /** The destination is failing from now on. */
  failing(): void;
  /** The destination accepts callbacks again. */
  recovered(): void;
}

/** Receives the result of each attempt of a lane. */
export interface HealthWatch {
  failed(lane: string, reason: AttemptReason): void;
  delivered(lane: string): void;
  /** The setting has no address. */
  unset(lane: string): void;
}

export interface HealthOptions {
  readonly logger: Logger;
  readonly watch: HealthWatch;
  readonly random: () => number;
  readonly rules: BreakerRules;
  /** The probes of a destination; read only while it is failing. */
  readonly probesOf: (destination: string) => Probes;
  /** Default: the machine's. */
  readonly time?: Time;
}

/** Result of a request, with the destination's Retry-After. */
type RequestEnd = Pick<AttemptResult, 'statusCode' | 'error' | 'retryAfterMs'>;

/** State of one destination, for all settings whose address currently leads to it. */
export class DestinationHealth {
  readonly breaker: CircuitBreaker;
  readonly probes: Probes;
  readonly #o: Pick<HealthOptions, 'logger' | 'random' | 'watch' | 'time'>;
  readonly #users = new Set<DestinationUser>();

  constructor(destination: string, options: HealthOptions) {
    this.#o = options;
    this.breaker = new CircuitBreaker(options.rules);
    this.probes = options.probesOf(destination);
  }

  get used(): boolean {
    return this.#users.size > 0;
  }

  join(user: DestinationUser): void {
    this.#users.add(user);
  }

  leave(user: DestinationUser): void {
    this.#users.delete(user);
  }

  /** Reports the end of a request of `lane`. */
  report(outcome: AttemptOutcome, lane: string, end: RequestEnd): void {
    const { breaker } = this;
    const { logger, random, watch, time = systemTime } = this.#o;
    // 410 is about one callback, not about the destination.
    if (outcome === 'gone') breaker.leave();
    else if (outcome === 'delivered') {
      watch.delivered(lane);
      if (!breaker.succeeded()) return;
      logger.info({ lane }, 'destination accepts callbacks again');
      for (const user of this.#users) user.recovered();
    } else {
      const hasBegun = breaker.failed(time.monotonicNow(), random(), end.retryAfterMs);
      const reason = reasonOf(end) ?? 'other';
      watch.failed(lane, reason);
      // A probe counts for all lanes that wait for the destination.
      if (breaker.failing) for (const { name } of this.#users) watch.failed(name, reason);
      if (!hasBegun) return;
      logger.warn(
        { lane, error: end.error },
        'destination is failing: probed until it accepts callbacks again',
      );
      for (const user of this.#users) user.failing();
    }
  }

  /** A request of `user` has ended: starts deliveries of all users that may start now. */
  dispatch(user: DestinationUser): void {
    if (this.#users.size > 1) for (const each of this.#users) each.dispatch();
    else user.dispatch();
  }
}

/** A failing destination's state is forgotten when nothing was sent to it for this time; milliseconds. */
const forgetAfterMs = 3_600_000;

/** The state of all destinations: each is an application with an origin (rule B10). */
export class DestinationHealths {
  readonly #known = new Map<string, DestinationHealth>();
  readonly #options: HealthOptions;

  constructor(options: HealthOptions) {
    this.#options = options;
  }

  /** Reports that a setting has no address. */
  unset(lane: string): void {
    this.#options.watch.unset(lane);
  }

  /** State for one setting until its address is known. */
  ofUnknown(): DestinationHealth {
    return new DestinationHealth('', this.#options);
  }

  of(applicationId: string, origin: string): DestinationHealth {
    const key = `${applicationId} ${origin}`;
    let health = this.#known.get(key);
    if (!health) {
      health = new DestinationHealth(key, this.#options);
      this.#known.set(key, health);
    }
    return health;
  }

  /** Removes destinations without users and without a failure state. */
  tidy(): void {
    const nowMs = (this.#options.time ?? systemTime).monotonicNow();
    for (const [key, { used, breaker }] of this.#known) {
      const idle = !used && breaker.inFlight === 0;
      if (idle && (!breaker.failing || breaker.notBeforeMs < nowMs - forgetAfterMs)) this.#known.delete(key);
    }
  }
}
