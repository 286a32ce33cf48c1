import { create, toBinary } from '@bufbuild/protobuf';
import { type EventLog, topics } from '@headset-cloud/eventlog/types.ts';
import { DeviceReportEventSchema } from '@headset-cloud/proto/device_link/v1/events_pb.ts';
import { type Clock, monotonicMs } from '@headset-cloud/runtime/clock.ts';
import type { Logger } from '@headset-cloud/runtime/logger.ts';
import type { EndedSessions, UnreportedEnd } from '../ports.ts';

export interface OfflineReportsDeps {
  readonly sessions: EndedSessions;
  /** Since when this instance's lease has been unbroken, by the monotonic clock; infinite if it has expired. */
  readonly leaseSinceMs: () => number;
  /** Returns whether the instance's lease is valid. */
  readonly isAlive: (instanceId: string) => Promise<boolean>;
  readonly log: Pick<EventLog, 'publish'>;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly instanceId: string;
  /** How long a headset is without a session until it is offline; milliseconds. */
  readonly offlineAfterMs: number;
}

/** Maximum number of headsets in one publish. */
const batchSize = 500;

/**
 * Reports headsets as offline (rule A21): headsets without a session for `offlineAfterMs`. Each instance measures this
 * time for the sessions that ended on it, by its own monotonic clock. It reports only if its lease was valid during the
 * whole time. It takes over the sessions of an instance whose lease has been expired for the whole time (ADR 0015).
 */
export class OfflineReports {
  readonly #deps: OfflineReportsDeps;
  /** Instances whose lease has expired, and since when, by the monotonic clock. */
  readonly #deadSinceMs = new Map<string, number>();

  constructor(deps: OfflineReportsDeps) {
    this.#deps = deps;
  }

  /** Interval between calls of `poll`; milliseconds. */
  get pollEveryMs(): number {
    return Math.max(10, this.#deps.offlineAfterMs / 30);
  }

  /** Takes over the sessions of dead instances, and publishes which headsets are offline now. */
  async poll(): Promise<void> {
    const { sessions, leaseSinceMs, clock, instanceId, offlineAfterMs } = this.#deps;
    const nowMs = monotonicMs(clock);
    const dueBeforeMs = nowMs - offlineAfterMs;
    const dead = await this.#findDead(nowMs);
    await sessions.takeOverUnowned(nowMs);
    if (leaseSinceMs() > dueBeforeMs) return;
    for (const [owner, sinceMs] of dead) {
      if (sinceMs <= dueBeforeMs) await this.#takeOver(owner, sinceMs, nowMs);
    }
    for (;;) {
      const due = await sessions.endedBefore(instanceId, dueBeforeMs, batchSize);
      if (due.length > 0) await this.#publish(due);
      if (due.length < batchSize) return;
    }
  }

  async #findDead(nowMs: number): Promise<ReadonlyMap<string, number>> {
    const { sessions, isAlive, instanceId } = this.#deps;
    const dead = new Set<string>();
    for (const owner of await sessions.owners()) {
      if (owner !== instanceId && !(await isAlive(owner))) dead.add(owner);
    }
    for (const owner of this.#deadSinceMs.keys()) if (!dead.has(owner)) this.#deadSinceMs.delete(owner);
    for (const owner of dead) if (!this.#deadSinceMs.has(owner)) this.#deadSinceMs.set(owner, nowMs);
    return this.#deadSinceMs;
  }

  async #takeOver(owner: string, sinceMs: number, nowMs: number): Promise<void> {
    const { sessions, clock, logger } = this.#deps;
    const endedAtMs = Math.round(clock.now() - (nowMs - sinceMs));
    const ended = await sessions.takeOver(owner, { sinceMs, endedAtMs });
    if (ended > 0) logger.warn({ owner, sessions: ended }, 'sessions of a dead instance have ended');
  }

  /** Publishes the ends, then records them as published. Consumers recognize a repeated event by its session epoch. */
  async #publish(due: readonly UnreportedEnd[]): Promise<void> {
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
    await sessions.reported(due);
    logger.info({ headsets: due.length }, 'headsets are offline');
  }
}
