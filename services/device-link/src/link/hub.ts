import { GoAwayReason } from '@headset-cloud/proto/device_link/v1/device_link_pb.ts';
import { systemTime, type Time } from '@headset-cloud/runtime/clock.ts';
import type { Logger } from '@headset-cloud/runtime/logger.ts';
import type { EndedSession, SessionDirectory } from '../ports.ts';
import { pause } from './retry.ts';
import type { Session } from './session.ts';

/** How long a superseded headset stays away: two holders of one key must not chase each other; milliseconds. */
const supersededRetryMs = 30_000;
/** Draining headsets come back spread over this time; milliseconds. */
const drainSpreadMs = 1000;
/**
 * Longest wait of a drain for one headset's reports, milliseconds: with the spread and a handshake it is online
 * elsewhere within 5 s. What is not acknowledged by then, it sends again there.
 */
const longestDrainReportsMs = 3000;
/** How long a verdict about sessions that are still registering is kept; milliseconds. */
const verdictMs = 60_000;

/** The sessions of this instance. The newest of a headset wins (rule C6). */
export class SessionHub {
  readonly #directory: SessionDirectory;
  readonly #time: Time;
  readonly #logger: Logger;
  readonly #sessions = new Map<string, Session>();
  /** Ended, stream not over yet. */
  readonly #closing = new Set<Session>();
  /** Over, but still in the store because that failed: given back with the next lease. */
  #unreleased = new Map<string, EndedSession>();
  /** Sessions of a headset below the epoch are over, also those that are only just registering. */
  readonly #verdicts = new Map<string, { belowEpoch: number; untilMs: number }>();
  #draining = false;

  constructor(directory: SessionDirectory, logger: Logger, time: Time = systemTime) {
    this.#directory = directory;
    this.#time = time;
    this.#logger = logger;
  }

  get size(): number {
    return this.#sessions.size;
  }

  get draining(): boolean {
    return this.#draining;
  }

  get(deviceId: string): Session | undefined {
    return this.#sessions.get(deviceId);
  }

  /** True for a session of this instance that is open, or over and still to be given back. */
  knows(deviceId: string, epoch: number): boolean {
    return this.#sessions.get(deviceId)?.epoch === epoch || this.#unreleased.get(deviceId)?.epoch === epoch;
  }

  all(): Iterable<Session> {
    return this.#sessions.values();
  }

  /** The directory does not name this session: it names a newer one (its epoch is given), or none. */
  disown(session: Session, holderEpoch = 0): void {
    if (holderEpoch > session.epoch) {
      this.closeBelow(session.deviceId, holderEpoch);
      return;
    }
    session.close(GoAwayReason.DRAINING, Math.random() * drainSpreadMs);
  }

  /** Takes a session that is registered in the store. False: a newer one exists, it was closed. */
  add(session: Session): boolean {
    const { deviceId, epoch } = session;
    const earlier = this.#sessions.get(deviceId);
    const newerKnown = Math.max(earlier?.epoch ?? 0, this.#verdicts.get(deviceId)?.belowEpoch ?? 0);
    if (newerKnown > epoch) {
      session.close(GoAwayReason.SUPERSEDED, supersededRetryMs);
      return false;
    }
    this.#sessions.set(deviceId, session);
    if (earlier) {
      earlier.close(GoAwayReason.SUPERSEDED, supersededRetryMs);
    }
    return true;
  }

  /** Another instance has a newer session of this headset. */
  closeBelow(deviceId: string, belowEpoch: number): void {
    const known = this.#verdicts.get(deviceId)?.belowEpoch ?? 0;
    this.#verdicts.set(deviceId, {
      belowEpoch: Math.max(known, belowEpoch),
      untilMs: this.#time.monotonicNow() + verdictMs,
    });
    const session = this.#sessions.get(deviceId);
    if (!session || session.epoch >= belowEpoch) return;
    session.close(GoAwayReason.SUPERSEDED, supersededRetryMs);
  }

  /** A session has ended: it is forgotten here and in the store. */
  ended(session: Session): void {
    const { deviceId, epoch, ackedReportId, unresponsive } = session;
    if (this.#sessions.get(deviceId) === session) this.#sessions.delete(deviceId);
    this.#closing.add(session);
    if ((this.#unreleased.get(deviceId)?.epoch ?? 0) < epoch) {
      this.#unreleased.set(deviceId, { deviceId, epoch, ackedReportId, unresponsive });
    }
    this.#releaseSoon();
  }

  /** The stream of a session is over, after its end or by itself. */
  gone(session: Session): void {
    session.end();
    this.#closing.delete(session);
  }

  /** Looks for sessions past a deadline; called about every second. */
  sweep(): void {
    const now = this.#time.monotonicNow();
    for (const session of this.#sessions.values()) session.sweep();
    for (const session of this.#closing) session.sweep();
    for (const [deviceId, { untilMs }] of this.#verdicts) {
      if (untilMs < now) this.#verdicts.delete(deviceId);
    }
  }

  #releasing: Promise<void> | undefined;
  /** Sessions that end in one turn are given back in one write. */
  #releaseSoon(): void {
    this.#releasing ??= new Promise<void>((resolve) => setImmediate(resolve))
      .then(() => this.releaseEnded())
      .finally(() => {
        this.#releasing = undefined;
      });
  }

  /** Gives ended sessions back to the store; what fails is kept for the next time. */
  async releaseEnded(): Promise<void> {
    while (this.#unreleased.size > 0) {
      const batch = this.#unreleased;
      this.#unreleased = new Map();
      try {
        await this.#directory.release([...batch.values()]);
      } catch (error) {
        for (const [deviceId, session] of batch) {
          const newer = this.#unreleased.get(deviceId);
          if (!newer || newer.epoch < session.epoch) this.#unreleased.set(deviceId, session);
        }
        this.#logger.warn({ count: batch.size, err: error }, 'ended sessions could not be given back');
        return;
      }
    }
  }

  /**
   * Sends every headset away, each as soon as what it reported is stored and acknowledged, and gives their sessions
   * back. Takes `forMs` milliseconds at most: half of them for the reports.
   */
  async drain(forMs: number): Promise<void> {
    this.#draining = true;
    const beganMs = this.#time.monotonicNow();
    const reportsMs = Math.min(longestDrainReportsMs, forMs / 2);
    let staying = [...this.#sessions.values()];
    for (const session of staying) session.quiesce();
    for (;;) {
      const late = this.#time.monotonicNow() - beganMs >= reportsMs;
      for (const session of staying) {
        if (session.busy && !late) continue;
        session.close(GoAwayReason.DRAINING, Math.random() * drainSpreadMs);
      }
      staying = staying.filter((session) => !session.ended);
      if (staying.length === 0) break;
      await pause(20, this.#time);
    }
    const released = (async () => {
      await this.#releasing;
      await this.releaseEnded();
    })();
    // A store that does not answer must not keep the streams open: the sessions end with the lease.
    const leftMs = forMs - (this.#time.monotonicNow() - beganMs);
    await Promise.race([released, pause(leftMs, this.#time)]);
  }
}
