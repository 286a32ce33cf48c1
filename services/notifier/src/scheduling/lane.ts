import { backoffMs } from '../domain/backoff.ts';
import type { Chain, Held } from '../domain/chain.ts';
import { type Delivery, laneParts } from '../domain/delivery.ts';
import { ended } from '../domain/outcome.ts';
import { agedAtMs, endsAtMs, isOver } from '../domain/time-limit.ts';
import type { Destinations } from '../ports.ts';
import type { Attempted } from './attempts.ts';
import type { SharedGate } from './gates.ts';
import type { LaneContext, Verdict } from './lane-context.ts';
import { LaneLedger } from './lane-ledger.ts';
import { LaneQueue } from './lane-queue.ts';

/** Held of a lane whose destination does not take callbacks: enough to probe it with. */
const idleWindow = 16;
/** Claimed with one write: a large one would hold up the callbacks that can go. */
const claimAtOnce = 200;
const unknownBackoff = { firstMs: 200, maxMs: 10_000 };

/** Works on one application's setting: when what starts, and refills from the database. */
export class Lane {
  readonly name: string;
  readonly #c: LaneContext;
  readonly #queue = new LaneQueue(() => this.dispatch());
  readonly #ledger: LaneLedger;
  #shared: SharedGate;
  #active = 0;
  #maybeMore = false;
  #loading = false;
  #pulling = 0;
  #unset = false;
  #unknownInARow = 0;
  /** By `performance.now()`, like the gate's times: a clock that is set back must not stop the lane. */
  #pausedUntilMs = 0;
  #timer: NodeJS.Timeout | undefined;

  constructor(name: string, context: LaneContext) {
    this.name = name;
    this.#c = context;
    this.#ledger = new LaneLedger(this.#queue, context);
    this.#shared = context.gates.unknown();
  }

  get size(): number {
    return this.#queue.size;
  }

  get active(): number {
    return this.#active;
  }

  /** True when nothing would be lost by forgetting the lane. */
  get idle(): boolean {
    const busy = this.#active > 0 || this.#loading || this.#pulling > 0;
    return this.size === 0 && !busy && !this.#shared.gate.failing;
  }

  /** How many more it would hold now; none while older ones wait in the database. */
  get room(): number {
    return this.#maybeMore || this.#loading ? 0 : Math.max(0, this.#limit - this.size);
  }

  get #limit(): number {
    const { windowSize } = this.#c;
    return this.#shared.gate.failing || this.#unset ? Math.min(idleWindow, windowSize) : windowSize;
  }

  /** Only the database can bring on what others wait for: they must never take all the room. */
  get #crowded(): boolean {
    return this.size > this.#limit / 4 || this.#c.room() < this.#c.maxInMemory / 2;
  }

  held(): Iterable<Held> {
    return this.#queue.held();
  }

  /** Takes in deliveries that this instance owns. */
  accept(deliveries: readonly Pick<Held, 'delivery' | 'leaseUntilMs'>[]): void {
    const patientUntilMs = performance.now() + this.#c.orderWaitMs;
    for (const held of deliveries) {
      for (const { delivery } of this.#queue.add({ ...held, patientUntilMs }))
        this.#ledger.end(delivery, ended('replaced', this.#c.clock.now()));
    }
  }

  /** There may be unowned work in the database. */
  foundWork(): void {
    this.#maybeMore = true;
  }

  /** Another instance took it. */
  drop(held: Held): void {
    this.#queue.drop(held);
  }

  /** Starts what may start now. */
  dispatch(): void {
    const { marks, stopping } = this.#c;
    if (stopping() || marks.full) return;
    const now = performance.now();
    if (now < this.#pausedUntilMs) {
      this.#wakeAt(this.#pausedUntilMs);
      return;
    }
    while (this.#queue.readyCount > 0) {
      const { gate } = this.#shared;
      if (!gate.mayStart(now)) {
        if (gate.closedUntilMs > now) this.#wakeAt(gate.closedUntilMs);
        break;
      }
      const next = this.#queue.take();
      if (!next) break;
      gate.enter();
      this.#active++;
      void this.#work(next.chain, next.held, this.#shared);
    }
    this.#refill();
  }

  /** Lets go what has waited long enough for others; gives up what is over its time. */
  tidy(): void {
    this.#queue.separate(performance.now());
    this.expire();
  }

  /** Gives up what is over its time while the destination does not take callbacks, and lets others in. */
  expire(): void {
    if (!this.#shared.gate.failing && !this.#unset) return;
    const { clock, limit } = this.#c;
    const { probes } = this.#shared;
    const now = clock.now();
    let short = false;
    const over = ({ delivery }: Held) => {
      if (now < agedAtMs(delivery, limit)) return false;
      // Without an address there is nothing that could be tried (rule B10).
      if (this.#unset || isOver(delivery, probes.countFor(delivery), now, limit)) return true;
      short = true;
      return false;
    };
    const reason = this.#unset ? 'destination not set' : 'destination failing';
    for (const { delivery } of this.#queue.pick(over)) this.#giveUp(delivery, reason);
    // Other instances, and this one before its start, may have probed it more often than is known here.
    if (short) void probes.refresh()?.then(() => this.expire());
  }

  #giveUp(delivery: Delivery, reason: string): void {
    const change = ended('dead', this.#c.clock.now());
    this.#ledger.end(delivery, { ...change, lastOutcome: delivery.lastOutcome || reason });
  }

  /** Gives everything that is not being worked on back to the database. */
  close(): void {
    clearTimeout(this.#timer);
    this.#queue.wakeAll();
    this.#giveBack(this.#queue.shrink(0));
  }

  /** Its destination takes callbacks again: what waits for a later attempt is tried now. */
  recovered(): void {
    const { store, clock, logger } = this.#c;
    this.#queue.wakeAll();
    this.#pulling++;
    store
      .pullForward(this.name, clock.now())
      .then(
        () => {
          this.#maybeMore = true;
        },
        (error) => logger.warn({ err: error, lane: this.name }, 'waiting callbacks not pulled forward'),
      )
      .finally(() => {
        this.#pulling--;
        this.dispatch();
      });
  }

  async #work(chain: Chain, held: Held, entered: SharedGate): Promise<void> {
    let verdict: Verdict;
    try {
      verdict = await this.#try(held, entered);
      if (verdict.kind !== 'unknown') this.#unknownInARow = 0;
    } catch (error) {
      // The database or devices is away: no attempt. #try has left the gate.
      this.#c.logger.warn(
        { err: error, lane: this.name },
        'callbacks wait: their destination cannot be read',
      );
      verdict = { kind: 'unknown' };
    }
    this.#active--;
    this.#settle(chain, held, verdict);
    if (this.#shared.lanes.size > 1) for (const lane of this.#shared.lanes) lane.dispatch();
    else this.dispatch();
  }

  async #try(held: Held, entered: SharedGate): Promise<Verdict> {
    const { attempts, destinations, clock, gates, limit, stopping } = this.#c;
    let to: Awaited<ReturnType<Destinations['get']>>;
    if (clock.now() >= endsAtMs(held.delivery, limit)) {
      entered.gate.leave();
      return { kind: 'over' };
    }
    const { applicationId, destination } = laneParts(this.name);
    try {
      const readiness = await attempts.readiness(held);
      if (readiness.kind !== 'ready') {
        entered.gate.leave();
        return readiness;
      }
      to = await destinations.get(applicationId, destination);
    } catch (error) {
      entered.gate.leave();
      throw error;
    }
    this.#unset = to === undefined;
    if (!to) {
      entered.gate.leave();
      return { kind: 'unset' };
    }
    const shared = gates.get(applicationId, to.url.origin);
    this.#attach(shared);
    // Meanwhile the address may have changed, or the destination begun to fail.
    entered.gate.leave();
    if (stopping() || !shared.gate.mayStart(performance.now())) return { kind: 'closed' };
    const { probes } = shared;
    const isProbe = shared.gate.failing;
    shared.gate.enter();
    const attempted = await attempts.send(held, to, (delivery) => probes.countFor(delivery));
    if (!attempted) {
      shared.gate.leave();
      return { kind: 'cut' };
    }
    if (isProbe && attempted.answered !== 'took') probes.note(held.delivery.id);
    this.#tellGate(shared, attempted);
    return { kind: 'attempted', attempted };
  }

  #tellGate(shared: SharedGate, { answered, retryAfterMs }: Attempted): void {
    const { random, logger } = this.#c;
    if (answered === 'gone') shared.gate.leave();
    else if (answered === 'took') {
      if (!shared.gate.succeeded()) return;
      logger.info({ lane: this.name }, 'destination takes callbacks again');
      for (const lane of shared.lanes) lane.recovered();
    } else if (shared.gate.failed(performance.now(), random(), retryAfterMs)) {
      logger.warn({ lane: this.name }, 'destination is failing: probed until it takes callbacks again');
      for (const lane of shared.lanes) lane.#shrink();
    }
  }

  #settle(chain: Chain, held: Held, verdict: Verdict): void {
    const { unsetRetryMs, random } = this.#c;
    const now = performance.now();
    switch (verdict.kind) {
      case 'attempted':
        this.#ledger.attempted(chain, held, verdict.attempted.change);
        break;
      case 'blocked':
        // The earlier one may have come into this chain meanwhile.
        if (chain.first !== held) this.#queue.done(chain, 'again');
        else if (this.#crowded) this.#ledger.release(chain, verdict.untilMs, {});
        else this.#ledger.putOff(chain, verdict.untilMs, {});
        break;
      case 'lost':
        this.#queue.remove(chain, held);
        this.#queue.done(chain);
        break;
      case 'overtaken':
        this.#queue.remove(chain, held);
        this.#ledger.end(held.delivery, ended('replaced', this.#c.clock.now()));
        this.#queue.done(chain);
        break;
      case 'over':
        this.#queue.remove(chain, held);
        this.#giveUp(held.delivery, 'its time was over');
        this.#queue.done(chain);
        break;
      case 'unset':
        this.#queue.done(chain, 'again');
        this.#pausedUntilMs = now + unsetRetryMs * (0.8 + 0.4 * random());
        this.expire();
        this.#shrink();
        break;
      case 'unknown':
        this.#queue.done(chain, 'again');
        this.#unknownInARow++;
        this.#pausedUntilMs = now + 50 + backoffMs(this.#unknownInARow, unknownBackoff, random());
        break;
      case 'closed':
        this.#queue.done(chain, 'again');
        break;
      case 'cut':
        this.#giveBack(this.#queue.evict(chain));
    }
  }

  #shrink(): void {
    this.#giveBack(this.#queue.shrink(this.#limit));
  }

  #giveBack(given: readonly Held[]): void {
    if (given.length > 0) this.#maybeMore = true;
    this.#ledger.giveBack(given);
  }

  #refill(): void {
    const wanted = Math.min(this.#limit - this.size, this.#c.room(), claimAtOnce);
    if (!this.#maybeMore || this.#loading || this.size > this.#limit / 2 || wanted <= 0) return;
    this.#loading = true;
    this.#maybeMore = false;
    const { store, clock, leaseMs, marks, logger } = this.#c;
    const now = clock.now();
    const leaseUntilMs = now + leaseMs;
    store
      .claim(this.name, wanted, now, leaseUntilMs)
      .then(
        ({ claimed, more }) => {
          this.#maybeMore ||= more;
          // One whose outcome is not stored yet is finished here, or given back.
          const fresh = claimed.filter((delivery) => !marks.has(delivery.id));
          this.accept(this.#queue.unheld(fresh, leaseUntilMs));
          this.expire();
          return claimed.length > 0;
        },
        (error) => {
          // The sweeper comes back to it.
          logger.warn({ err: error, lane: this.name }, 'due callbacks not loaded');
          return false;
        },
      )
      .then((progress) => {
        this.#loading = false;
        if (progress) this.dispatch();
      });
  }

  #attach(shared: SharedGate): void {
    if (shared === this.#shared) return;
    this.#shared.lanes.delete(this);
    shared.lanes.add(this);
    this.#shared = shared;
  }

  /** To be called when the lane is forgotten. */
  detach(): void {
    clearTimeout(this.#timer);
    this.#shared.lanes.delete(this);
  }

  #wakeAt(atMs: number): void {
    clearTimeout(this.#timer);
    this.#timer = setTimeout(
      () => this.dispatch(),
      Math.max(1, Math.min(atMs - performance.now(), 2 ** 31 - 1)),
    );
  }
}
