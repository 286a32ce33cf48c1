import { systemTime, type Time } from '@headset-cloud/kit/clock.ts';
import type { Logger } from '@headset-cloud/kit/logger.ts';
import { type AttemptReason, reasonOf } from '../domain/attempt-reason.ts';
import { type BreakerRules, CircuitBreaker } from '../domain/circuit-breaker.ts';
import type { AttemptResult, OutcomeWord } from '../domain/outcome.ts';
import type { Probes } from './probes.ts';

/** Who sends to a destination, and is told when that changes what may be sent. */
export interface DestinationUser {
  /** The lane. */
  readonly name: string;
  /** Start what may start now. */
  dispatch(): void;
  /** It is failing from now on. */
  failing(): void;
  /** It takes callbacks again. */
  recovered(): void;
}

/** Is told of each attempt what it showed of a lane; keeps it in memory only. */
export interface HealthWatch {
  failed(lane: string, reason: AttemptReason): void;
  delivered(lane: string): void;
  /** There is no address. */
  unset(lane: string): void;
}

export interface HealthOptions {
  readonly logger: Logger;
  readonly watch: HealthWatch;
  readonly random: () => number;
  readonly rules: BreakerRules;
  /** The probes of a destination; they are read only when it is failing. */
  readonly probesOf: (destination: string) => Probes;
  /** Default: the machine's. */
  readonly time?: Time;
}

/** Why a request failed, and what the destination asked for. */
type RequestEnd = Pick<AttemptResult, 'statusCode' | 'error' | 'retryAfterMs'>;

/** How one destination does, for all settings whose address leads there now. */
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

  /** A request of `lane` is over. */
  report(word: OutcomeWord, lane: string, end: RequestEnd): void {
    const { breaker } = this;
    const { logger, random, watch, time = systemTime } = this.#o;
    // 410 tells of one callback, nothing of the destination.
    if (word === 'gone') breaker.leave();
    else if (word === 'delivered') {
      watch.delivered(lane);
      if (!breaker.succeeded()) return;
      logger.info({ lane }, 'destination takes callbacks again');
      for (const user of this.#users) user.recovered();
    } else {
      const hasBegun = breaker.failed(time.monotonicNow(), random(), end.retryAfterMs);
      const reason = reasonOf(end) ?? 'other';
      watch.failed(lane, reason);
      // A probe speaks for all that wait behind it.
      if (breaker.failing) for (const { name } of this.#users) watch.failed(name, reason);
      if (!hasBegun) return;
      logger.warn(
        { lane, error: end.error },
        'destination is failing: probed until it takes callbacks again',
      );
      for (const user of this.#users) user.failing();
    }
  }

  /** There may be room in flight again: for all users, and for this one, which may have left. */
  dispatch(user: DestinationUser): void {
    if (this.#users.size > 1) for (const each of this.#users) each.dispatch();
    else user.dispatch();
  }
}

/** A failing destination's state is forgotten when nothing went there for so long. */
const forgetAfterMs = 3_600_000;

/** The health of all destinations: each is an application with an origin (rule B10). */
export class DestinationHealths {
  readonly #known = new Map<string, DestinationHealth>();
  readonly #options: HealthOptions;

  constructor(options: HealthOptions) {
    this.#options = options;
  }

  /** A setting has no address. */
  unset(lane: string): void {
    this.#options.watch.unset(lane);
  }

  /** For one setting, until its address is known. */
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

  /** Forgets destinations that nobody uses and that have nothing to tell. */
  tidy(): void {
    const nowMs = (this.#options.time ?? systemTime).monotonicNow();
    for (const [key, { used, breaker }] of this.#known) {
      const idle = !used && breaker.inFlight === 0;
      if (idle && (!breaker.failing || breaker.notBeforeMs < nowMs - forgetAfterMs)) this.#known.delete(key);
    }
  }
}
