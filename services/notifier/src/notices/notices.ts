import type { Failpoints } from '@headset-cloud/kit/failpoints.ts';
import type { Logger } from '@headset-cloud/kit/logger.ts';
import { callbackTypes } from '@headset-cloud/proto/callbacks.ts';
import { laneOf, laneParts } from '../domain/delivery.ts';
import type { Notice } from '../domain/notice.ts';
import type { NotifierMetrics } from '../metrics.ts';
import type { Destinations, ForgottenApplications, NoticeStore } from '../ports.ts';
import type { Scheduler } from '../scheduling/scheduler.ts';

export interface NoticesOptions {
  readonly store: NoticeStore;
  readonly destinations: Destinations;
  readonly forgottenApplications: Pick<ForgottenApplications, 'read'>;
  readonly scheduler: Pick<Scheduler, 'foundWork'>;
  readonly metrics: Pick<NotifierMetrics, 'notices'>;
  readonly logger: Logger;
  readonly failpoints: Failpoints;
}

/** Stores notices that are decided, and tells operators of them. */
export class Notices {
  readonly #o: NoticesOptions;

  constructor(options: NoticesOptions) {
    this.#o = options;
  }

  /** True while the application has an address for notices. Rejects when devices cannot tell. */
  async isRegistered(applicationId: string): Promise<boolean> {
    return (await this.#o.destinations.get(applicationId, 'noticeEvent')) !== undefined;
  }

  /** The same, for a notice about one of its settings: that of notices is not told of itself. */
  async isRegisteredFor(lane: string): Promise<boolean> {
    const { applicationId, destination } = laneParts(lane);
    return destination !== 'noticeEvent' && (await this.isRegistered(applicationId));
  }

  /** The same, for a setting that fails: neither is a server that takes nothing. */
  async isRegisteredElsewhere(lane: string): Promise<boolean> {
    const { applicationId, destination } = laneParts(lane);
    // The two reads below may see two addresses.
    if (destination === 'noticeEvent') return false;
    const { destinations } = this.#o;
    const [to, failing] = await Promise.all([
      destinations.get(applicationId, 'noticeEvent'),
      destinations.get(applicationId, destination),
    ]);
    return to !== undefined && to.url.origin !== failing?.url.origin;
  }

  /** Deliveries of a setting that wait. */
  waiting(lane: string): Promise<number> {
    return this.#o.store.waiting(lane);
  }

  /** Stores notices in their order; harmless when that was done before. What is forgotten is told nobody. */
  async store(notices: readonly Notice[]): Promise<void> {
    const { store, forgottenApplications, scheduler, metrics, logger, failpoints } = this.#o;
    const forgotten = await forgottenApplications.read();
    for (const notice of notices) {
      const { id, applicationId, type, isSent, told } = notice;
      if (forgotten.has(applicationId)) continue;
      const isNew = await store.insert(notice);
      failpoints('notifier.noticed');
      if (isSent) scheduler.foundWork(laneOf(applicationId, 'noticeEvent'));
      if (!isNew) continue;
      metrics.notices.inc({ type });
      logger[type === callbackTypes.destinationRecovered ? 'info' : 'warn'](
        { applicationId, notificationId: id, ...told },
        texts[type],
      );
    }
  }
}

const texts = {
  [callbackTypes.destinationFailing]: 'a destination has taken no callback for long',
  [callbackTypes.destinationRecovered]: 'a destination that had failed for long takes callbacks again',
  [callbackTypes.deliveriesDead]: 'callbacks were given up',
} as const;
