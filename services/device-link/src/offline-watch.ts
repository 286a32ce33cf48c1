import { create, toBinary } from '@bufbuild/protobuf';
import type { Clock } from '@headset-cloud/kit/clock.ts';
import { type EventLog, topics } from '@headset-cloud/kit/eventlog/types.ts';
import type { Logger } from '@headset-cloud/kit/logger.ts';
import { DeviceReportEventSchema } from '@headset-cloud/proto/device_link/v1/events_pb.ts';
import type { AwaySession, AwaySessions } from './ports.ts';

export interface OfflineWatchDeps {
  readonly sessions: AwaySessions;
  /** True while the instance's lease lives. */
  readonly isAlive: (instanceId: string) => Promise<boolean>;
  readonly log: Pick<EventLog, 'publish'>;
  readonly clock: Clock;
  /** Milliseconds of a clock that nobody sets. */
  readonly monotonic: () => number;
  readonly logger: Logger;
  readonly instanceId: string;
  /** How long a headset is without a session until it is offline; milliseconds. */
  readonly offlineAfterMs: number;
}

/** Into how many stretches the time is divided until a headset is offline. */
const stretches = 20;
/** How many are told of at a time. */
const batchSize = 500;
/** A count that stood still for longer was an outage; milliseconds. */
const shortestOutageMs = 5_000;

/**
 * Tells the platform which headsets have been without a session for a while (rule A21). Time is
 * counted in stretches by all instances together, in one document: who has seen the count stand for a
 * stretch of its own monotonic clock moves it on, and does the work of that step. So the time runs only
 * while an instance and the store work, no wall clock decides, a frozen process counts one stretch at
 * most, and each step is one instance's. After an outage everything is counted anew: headsets get their
 * full time to come back.
 */
export class OfflineWatch {
  readonly #deps: OfflineWatchDeps;
  readonly #stretchMs: number;
  readonly #outageMs: number;
  #seen: { count: number; sinceMs: number } | undefined;
  /** It has seen the count move: how long it stands now is all there is. */
  #following = false;
  #troubled = false;

  constructor(deps: OfflineWatchDeps) {
    this.#deps = deps;
    this.#stretchMs = deps.offlineAfterMs / stretches;
    this.#outageMs = Math.max(shortestOutageMs, deps.offlineAfterMs / 4);
  }

  /** How often `poll` is to be called; milliseconds. */
  get pollEveryMs(): number {
    return Math.max(10, this.#stretchMs / 3);
  }

  /** Headsets cannot be let in at the moment, and not through their own fault: an outage of ours. */
  troubled(): void {
    this.#troubled = true;
  }

  /** Moves the count on if it is time, and then does the work of the step. */
  async poll(): Promise<void> {
    const { sessions, monotonic } = this.#deps;
    const { count } = await sessions.count();
    if (this.#troubled) {
      this.#troubled = false;
      await sessions.beginAnew(count + 1);
    }
    if (this.#seen?.count !== count) {
      await this.#moved(count, this.#seen !== undefined);
      return;
    }
    const stoodMs = monotonic() - this.#seen.sinceMs;
    if (stoodMs < this.#stretchMs) return;
    const anew = !this.#following || stoodMs > this.#outageMs;
    const next = await sessions.advance(count, anew);
    if (!next) return;
    if (anew) this.#deps.logger.info('counting anew how long headsets have been away');
    await this.#moved(next.count, true);
    await this.#step(next.count, next.from);
  }

  async #moved(count: number, following: boolean): Promise<void> {
    this.#following = following;
    // The reading is over: the count has stood at least since now.
    this.#seen = { count, sinceMs: this.#deps.monotonic() };
    // Another may have taken this instance for dead while it was frozen.
    await this.#deps.sessions.reclaim(this.#deps.instanceId);
  }

  async #step(count: number, from: number): Promise<void> {
    const { sessions, isAlive, clock, logger, instanceId } = this.#deps;
    await sessions.noteEnded(count);
    for (const holder of await sessions.holders()) {
      if (holder === instanceId || (await isAlive(holder))) continue;
      const ended = await sessions.noteDead(holder, count, clock.now());
      if (ended > 0) logger.warn({ holder, sessions: ended }, 'sessions of an instance that died are over');
    }
    const lastDue = count - stretches;
    if (lastDue < from) return;
    for (;;) {
      const due = await sessions.awaySince(lastDue, batchSize);
      if (due.length > 0) await this.#tell(due);
      if (due.length < batchSize) return;
    }
  }

  /** Published first: what is told twice is recognised by its session epoch. */
  async #tell(due: readonly AwaySession[]): Promise<void> {
    const { log, clock, sessions, logger } = this.#deps;
    const receivedAtMs = BigInt(clock.now());
    await log.publish(
      topics.deviceReports,
      due.map(({ deviceId, epoch, endedAtMs }) => {
        const event = create(DeviceReportEventSchema, {
          deviceId,
          sessionEpoch: BigInt(epoch),
          receivedAtMs,
          body: { case: 'offline', value: { endedAtMs: BigInt(endedAtMs) } },
        });
        return { key: deviceId, value: toBinary(DeviceReportEventSchema, event) };
      }),
    );
    await sessions.toldOffline(due);
    logger.info({ headsets: due.length }, 'headsets are offline');
  }
}
