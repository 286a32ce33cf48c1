import { GoAwayReason } from '@headset-cloud/proto/device_link/v1/device_link_pb.ts';
import { systemTime, type Time } from '@headset-cloud/runtime/clock.ts';
import type { Logger } from '@headset-cloud/runtime/logger.ts';
import type { EndedSession, SessionDirectory } from '../ports.ts';
import type { Session } from '../session/session.ts';

/**
 * Reconnect delay of a superseded headset. Long, so that two headsets with one key do not displace each other often;
 * milliseconds.
 */
const supersededRetryMs = 30_000;
/** Time over which the reconnects of drained headsets are spread; milliseconds. */
const drainSpreadMs = 1000;
/**
 * Maximum time that a drain waits for one headset's reports; milliseconds. With the spread and a handshake, the
 * headset is online at another instance within 5 s, and sends unacknowledged reports again there.
 */
const maxDrainReportsMs = 3000;
/**
 * How long the hub remembers that a newer session exists, to close older sessions that finish their registration later;
 * milliseconds.
 */
const supersededMemoryMs = 60_000;

/** The sessions of this instance. The newest session of a headset wins (rule C6). */
export class SessionHub {
  readonly #directory: SessionDirectory;
  readonly #time: Time;
  readonly #logger: Logger;
  readonly #sessions = new Map<string, Session>();
  /** Ended sessions whose stream has not ended yet. */
  readonly #closing = new Set<Session>();
  /** Ended sessions that the directory still contains; released again after each renewal of the lease. */
  #unreleased = new Map<string, EndedSession>();
  /**
   * By device: sessions with a lower epoch than `belowEpoch` are superseded, including sessions that still register.
   */
  readonly #superseded = new Map<string, { belowEpoch: number; untilMs: number }>();
  #draining = false;
  #releasing: Promise<void> | undefined;

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

  /** True for a session of this instance that is open, or that has ended and is not released yet. */
  knows(deviceId: string, epoch: number): boolean {
    return this.#sessions.get(deviceId)?.epoch === epoch || this.#unreleased.get(deviceId)?.epoch === epoch;
  }

  all(): Iterable<Session> {
    return this.#sessions.values();
  }

  /**
   * Closes a session that the directory does not contain. `holderEpoch`: epoch of the device's session in the
   * directory, if any.
   */
  closeUnlisted(session: Session, holderEpoch = 0): void {
    if (holderEpoch > session.epoch) {
      this.closeBelow(session.deviceId, holderEpoch);
      return;
    }
    session.close(GoAwayReason.DRAINING, Math.random() * drainSpreadMs);
  }

  /**
   * Adds a registered session, and closes the device's earlier session. If the device has a newer session, closes the
   * given session instead and returns false.
   */
  add(session: Session): boolean {
    const { deviceId, epoch } = session;
    const earlier = this.#sessions.get(deviceId);
    const newerKnown = Math.max(earlier?.epoch ?? 0, this.#superseded.get(deviceId)?.belowEpoch ?? 0);
    if (newerKnown > epoch) {
      session.close(GoAwayReason.SUPERSEDED, supersededRetryMs);
      return false;
    }
    this.#sessions.set(deviceId, session);
    earlier?.close(GoAwayReason.SUPERSEDED, supersededRetryMs);
    return true;
  }

  /** Closes the headset's session if its epoch is below `belowEpoch`, because another instance has a newer session. */
  closeBelow(deviceId: string, belowEpoch: number): void {
    const known = this.#superseded.get(deviceId)?.belowEpoch ?? 0;
    this.#superseded.set(deviceId, {
      belowEpoch: Math.max(known, belowEpoch),
      untilMs: this.#time.monotonicNow() + supersededMemoryMs,
    });
    const session = this.#sessions.get(deviceId);
    if (!session || session.epoch >= belowEpoch) return;
    session.close(GoAwayReason.SUPERSEDED, supersededRetryMs);
  }

  /** Removes an ended session from the hub, and soon from the directory. */
  ended(session: Session): void {
    const { deviceId, epoch, ackedReportId, unresponsive } = session;
    if (this.#sessions.get(deviceId) === session) this.#sessions.delete(deviceId);
    this.#closing.add(session);
    if ((this.#unreleased.get(deviceId)?.epoch ?? 0) < epoch) {
      this.#unreleased.set(deviceId, { deviceId, epoch, ackedReportId, unresponsive });
    }
    this.#releaseSoon();
  }

  /** Called when the stream of a session has ended. Ends the session if it is still open. */
  streamEnded(session: Session): void {
    session.end();
    this.#closing.delete(session);
  }

  /** Closes sessions that are past a deadline; called about every second. */
  sweep(): void {
    const now = this.#time.monotonicNow();
    for (const session of this.#sessions.values()) session.sweep();
    for (const session of this.#closing) session.sweep();
    for (const [deviceId, { untilMs }] of this.#superseded) {
      if (untilMs < now) this.#superseded.delete(deviceId);
    }
  }

  /** Sessions that end in one event loop iteration are released in one write. */
  #releaseSoon(): void {
    this.#releasing ??= new Promise<void>((resolve) => setImmediate(resolve))
      .then(() => this.releaseEnded())
      .finally(() => {
        this.#releasing = undefined;
      });
  }

  /** Releases ended sessions in the directory; after an error they stay for the next call. */
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
        this.#logger.warn({ count: batch.size, err: error }, 'ended sessions could not be released');
        return;
      }
    }
  }

  /**
   * Closes every session as soon as its reports are stored and acknowledged, and releases the sessions. Takes at
   * most `forMs` milliseconds, of which at most half for the reports.
   */
  async drain(forMs: number): Promise<void> {
    this.#draining = true;
    const beganMs = this.#time.monotonicNow();
    const reportsMs = Math.min(maxDrainReportsMs, forMs / 2);
    let open = [...this.#sessions.values()];
    for (const session of open) session.quiesce();
    for (;;) {
      const late = this.#time.monotonicNow() - beganMs >= reportsMs;
      for (const session of open) {
        if (session.busy && !late) continue;
        session.close(GoAwayReason.DRAINING, Math.random() * drainSpreadMs);
      }
      open = open.filter((session) => !session.ended);
      if (open.length === 0) break;
      await this.#time.sleep(20, { ref: false });
    }
    const released = (async () => {
      await this.#releasing;
      await this.releaseEnded();
    })();
    // Does not wait longer for a store that does not answer: sessions that are not released end with the lease.
    const leftMs = forMs - (this.#time.monotonicNow() - beganMs);
    await Promise.race([released, this.#time.sleep(leftMs, { ref: false })]);
  }
}
