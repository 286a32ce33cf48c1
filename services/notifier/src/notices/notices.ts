import { callbackTypes } from '@headset-cloud/proto/callbacks.ts';
import type { Time } from '@headset-cloud/runtime/clock.ts';
import type { Logger } from '@headset-cloud/runtime/logger.ts';
import { type Repetition, repeat } from '@headset-cloud/runtime/repeat.ts';
import type { AttemptReason } from '../domain/attempt-reason.ts';
import { laneOf, laneParts } from '../domain/delivery.ts';
import {
  type DeadGroup,
  deadNotice,
  deadNoticeId,
  failingNotice,
  type Notice,
  type Outage,
  outageIds,
  recoveredNotice,
  withDead,
} from '../domain/notice.ts';
import type { NotifierMetrics } from '../metrics.ts';
import type { DeliveryStore } from '../ports/delivery-store.ts';
import type { Destinations } from '../ports/destinations.ts';
import type { ForgottenApplications } from '../ports/forgotten-applications.ts';
import type { NoticeStore } from '../ports/notice-store.ts';
import type { Scheduler } from '../scheduling/scheduler.ts';
import type { AttemptResults } from './attempt-results.ts';

export interface NoticesOptions {
  readonly store: NoticeStore;
  readonly deliveries: Pick<DeliveryStore, 'known'>;
  readonly destinations: Destinations;
  readonly forgottenApplications: Pick<ForgottenApplications, 'read'>;
  readonly scheduler: Pick<Scheduler, 'foundWork'>;
  readonly results: AttemptResults;
  readonly metrics: Pick<NotifierMetrics, 'notices'>;
  readonly time: Time;
  readonly logger: Logger;
  /** Time without an accepted callback after which a setting causes a notice; milliseconds. */
  readonly afterMs: number;
  /** Length of the interval whose dead deliveries are one notice; milliseconds. */
  readonly everyMs: number;
}

const mostBetweenChecksMs = 15_000;
/** Number of intervals whose dead deliveries a starting process reads. */
const intervalsAtStart = 60;

/**
 * Creates notices about failing callbacks (ADR 0055). Attempts are only recorded in memory. A periodic check compares
 * them with the stored outages, and reads the dead deliveries of finished intervals. The id of a notice is derived from
 * its cause. So a notice that another instance, or a process before a crash, has stored is not stored again.
 */
export class Notices {
  readonly #o: NoticesOptions;
  /** Dead deliveries whose notices are not stored yet. */
  readonly #dead = new Map<string, DeadGroup>();
  /** Start of the previous check, and end of the last interval whose dead deliveries were read. */
  #checkedAtMs: number;
  #deadUntilMs: number;
  readonly #repetition: Repetition;

  constructor(options: NoticesOptions) {
    this.#o = options;
    const { afterMs, everyMs, logger, time } = options;
    this.#checkedAtMs = time.now();
    this.#deadUntilMs = this.#intervalOf(this.#checkedAtMs - intervalsAtStart * everyMs);
    const checkEveryMs = Math.max(10, Math.min(mostBetweenChecksMs, afterMs / 4, everyMs / 4));
    this.#repetition = repeat('making notices', checkEveryMs, logger, () => this.check());
  }

  start(): void {
    this.#repetition.start();
  }

  stop(): Promise<void> {
    return this.#repetition.stop();
  }

  /** Creates the notices that are due. Repeated after `start`; tests call it directly. */
  async check(): Promise<number> {
    const { ended, failing } = this.#o.results;
    const outages = new Map((await this.#o.store.outages()).map((outage) => [outage.lane, outage]));
    const errors: unknown[] = [];
    const attempt = (work: Promise<void>) => work.catch((error) => errors.push(error));
    for (const [lane, isDelivered] of [...ended]) {
      await attempt(this.#end(lane, outages.get(lane), isDelivered));
    }
    for (const [lane, { atMs, reason }] of [...failing]) {
      // If the work fails, the next failed attempt repeats it.
      failing.delete(lane);
      await attempt(this.#continue(lane, atMs, reason));
    }
    await attempt(this.#readDead());
    for (const [key, group] of [...this.#dead]) await attempt(this.#storeDead(key, group));
    if (errors.length > 0) throw errors[0];
    return 0;
  }

  async #end(lane: string, outage: Outage | undefined, isDelivered: boolean): Promise<void> {
    const { store, deliveries, time, results } = this.#o;
    if (outage) {
      const { failing } = outageIds(outage);
      const hasNotice = (await deliveries.known([failing])).has(failing);
      if (hasNotice && isDelivered) {
        const { applicationId, destination } = laneParts(lane);
        const isSent = destination !== 'noticeEvent' && (await this.#isRegistered(applicationId));
        const waiting = await store.waiting(lane);
        await this.#store(recoveredNotice({ ...outage, waiting, isSent, nowMs: time.now() }));
      }
      if (!hasNotice || isDelivered) await store.end(outage);
    }
    // Kept for the next check if the setting has accepted a callback in the meantime.
    if (results.ended.get(lane) === isDelivered) results.ended.delete(lane);
  }

  async #continue(lane: string, atMs: number, reason: AttemptReason): Promise<void> {
    const { store, deliveries, time, afterMs } = this.#o;
    const outage = await store.failed(lane, atMs);
    const nowMs = time.now();
    if (nowMs - outage.sinceMs < afterMs) return;
    const { failing, recovered } = outageIds(outage);
    const known = await deliveries.known([failing, recovered]);
    // The recovery was announced, but its process died before it removed the outage. The next failed attempt begins
    // another outage.
    if (known.has(recovered)) return store.end(outage);
    if (known.has(failing)) return;
    const waiting = await store.waiting(lane);
    if (waiting === 0) return store.end(outage);
    const isSent = await this.#isRegisteredElsewhere(lane);
    await this.#store(failingNotice({ ...outage, reason, waiting, isSent, nowMs }));
  }

  /** Reads the deliveries that became dead in finished intervals. */
  async #readDead(): Promise<void> {
    const { store, time, everyMs } = this.#o;
    const nowMs = time.now();
    // The end of a delivery is stored a little later than its time, so the second check after an interval reads it.
    const toMs = this.#intervalOf(Math.min(this.#checkedAtMs, nowMs));
    // After the clock was set back: reads the last interval again.
    const fromMs = this.#deadUntilMs > toMs ? toMs - everyMs : this.#deadUntilMs;
    const groups = new Map<string, DeadGroup>();
    for await (const dead of store.dead(fromMs, toMs)) {
      const startMs = this.#intervalOf(dead.dueAtMs);
      const key = `${startMs} ${dead.applicationId}`;
      groups.set(key, withDead(groups.get(key), dead, startMs));
    }
    for (const [key, group] of groups) this.#dead.set(key, group);
    this.#deadUntilMs = toMs;
    this.#checkedAtMs = nowMs;
  }

  async #storeDead(key: string, group: DeadGroup): Promise<void> {
    const { deliveries, time } = this.#o;
    const id = deadNoticeId(group);
    if (!(await deliveries.known([id])).has(id)) {
      const isSent = group.hasCallback && (await this.#isRegistered(group.applicationId));
      await this.#store(deadNotice(group, isSent, time.now()));
    }
    this.#dead.delete(key);
  }

  #intervalOf(ms: number): number {
    return ms - (ms % this.#o.everyMs);
  }

  /** True if the application has an endpoint for notices. Rejects if devices does not answer. */
  async #isRegistered(applicationId: string): Promise<boolean> {
    return (await this.#o.destinations.get(applicationId, 'noticeEvent')) !== undefined;
  }

  /** True if the application has an endpoint for notices on a server other than the failing one. */
  async #isRegisteredElsewhere(lane: string): Promise<boolean> {
    const { applicationId, destination } = laneParts(lane);
    // The setting for notices is failing itself. The two reads below could return different URLs for it.
    if (destination === 'noticeEvent') return false;
    const { destinations } = this.#o;
    const [to, failing] = await Promise.all([
      destinations.get(applicationId, 'noticeEvent'),
      destinations.get(applicationId, destination),
    ]);
    return to !== undefined && to.url.origin !== failing?.url.origin;
  }

  async #store(notice: Notice): Promise<void> {
    const { store, forgottenApplications, scheduler, metrics, logger } = this.#o;
    const { id, applicationId, type, isSent, logFields } = notice;
    if ((await forgottenApplications.read()).has(applicationId)) return;
    if (!(await store.insert(notice))) return;
    if (isSent) scheduler.foundWork(laneOf(applicationId, 'noticeEvent'));
    metrics.notices.inc({ type });
    logger[type === callbackTypes.destinationRecovered ? 'info' : 'warn'](
      { applicationId, notificationId: id, ...logFields },
      texts[type],
    );
  }
}

const texts = {
  [callbackTypes.destinationFailing]: 'a destination has accepted no callback for a long time',
  [callbackTypes.destinationRecovered]: 'a destination accepts callbacks again after a long failure',
  [callbackTypes.deliveriesDead]: 'callbacks became dead',
} as const;
