import type { Clock } from '@headset-cloud/runtime/clock.ts';
import { setOrLeaveOut, sharedRead } from '@headset-cloud/runtime/set-or-leave-out.ts';
import { Counter, Gauge, Histogram, type Registry } from 'prom-client';
import { noticeTypes } from './domain/notice.ts';
import type { DeliveryStore } from './ports/delivery-store.ts';

export interface NotifierMetrics {
  /** By outcome: delivered, failed, gone. */
  readonly attempts: Pick<Counter<'outcome'>, 'inc'>;
  /** From the creation of the notification, or from its last resend, to the successful answer. */
  readonly deliverySeconds: Pick<Histogram, 'observe'>;
  /** Deliveries that were given up. */
  readonly dead: Pick<Counter, 'inc'>;
  /** By outcome: answered, failed, not_set. */
  readonly signedUrlRequests: Pick<Counter<'outcome'>, 'inc'>;
  /** By outcome: delivered, failed. */
  readonly testCallbacks: Pick<Counter<'outcome'>, 'inc'>;
  /** By type of the notice. */
  readonly notices: Pick<Counter<'type'>, 'inc'>;
}

/** Registers the notifier's metrics (rule C18). The backlog is read from the database at each scrape. */
export function createMetrics(
  registry: Registry,
  store: Pick<DeliveryStore, 'backlog'>,
  /** Number of settings whose endpoint has failed for a long time. */
  failing: () => Promise<number>,
  clock: Clock,
): NotifierMetrics {
  const backlog = sharedRead(() => store.backlog());
  new Gauge({
    name: 'headset_callbacks_due',
    help: 'Undelivered callbacks: due, in flight, or waiting for their next attempt. Whole platform: use max, not sum.',
    registers: [registry],
    async collect() {
      await setOrLeaveOut(this, {}, async () => (await backlog()).count);
    },
  });
  new Gauge({
    name: 'headset_callbacks_oldest_due_age_seconds',
    help: 'Age of the oldest undelivered callback, since its creation; 0 when there is none. Whole platform: use max, not sum.',
    registers: [registry],
    async collect() {
      await setOrLeaveOut(this, {}, async () => {
        const { oldestCreatedAtMs: at } = await backlog();
        return at === undefined ? 0 : Math.max(0, clock.now() - at) / 1000;
      });
    },
  });
  new Gauge({
    name: 'headset_endpoints_failing',
    help: 'Settings of applications whose URL has accepted no callback for NOTIFIER_NOTICE_AFTER_MS. Whole platform: use max, not sum.',
    registers: [registry],
    async collect() {
      await setOrLeaveOut(this, {}, failing);
    },
  });
  const notices = new Counter({
    name: 'headset_notices_total',
    help: 'Notices to applications about failing callbacks, by type.',
    labelNames: ['type'],
    registers: [registry],
  });
  for (const type of noticeTypes) notices.inc({ type }, 0);
  const attempts = new Counter({
    name: 'headset_callback_attempts_total',
    help: 'Attempts to send a callback, by outcome: delivered, failed, gone.',
    labelNames: ['outcome'],
    registers: [registry],
  });
  const signedUrlRequests = new Counter({
    name: 'headset_signed_url_requests_total',
    help: 'Requests for signed URLs to integrators, by outcome: answered, failed, not_set.',
    labelNames: ['outcome'],
    registers: [registry],
  });
  const testCallbacks = new Counter({
    name: 'headset_test_callbacks_total',
    help: 'Test callbacks that integrators asked for, by outcome: delivered, failed.',
    labelNames: ['outcome'],
    registers: [registry],
  });
  // Starts each outcome at 0, because increase() ignores a series that begins with its first event.
  for (const outcome of ['delivered', 'failed', 'gone']) attempts.inc({ outcome }, 0);
  for (const outcome of ['answered', 'failed', 'not_set']) signedUrlRequests.inc({ outcome }, 0);
  for (const outcome of ['delivered', 'failed']) testCallbacks.inc({ outcome }, 0);
  return {
    notices,
    signedUrlRequests,
    testCallbacks,
    dead: new Counter({
      name: 'headset_callbacks_dead_total',
      help: 'Dead callbacks: their time limit was reached, or their destination rejected them permanently.',
      registers: [registry],
    }),
    attempts,
    deliverySeconds: new Histogram({
      name: 'headset_callback_delivery_seconds',
      help: 'From the creation of a notification, or from its last resend, to its delivery.',
      buckets: [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 60, 600, 3600, 86_400],
      registers: [registry],
    }),
  };
}
