import { untilDeadline } from '@headset-cloud/runtime/deadline.ts';
import { setOrLeaveOut } from '@headset-cloud/runtime/set-or-leave-out.ts';
import { Counter, Gauge, type Registry } from 'prom-client';
import type { EventLog, Subscription } from './types.ts';

/**
 * Decorates the event log with metrics: the lag of each group (read at each scrape), and the number of
 * handled events.
 */
export function withMetrics(log: EventLog, registry: Registry): EventLog {
  const subscriptions: Pick<Subscription, 'group' | 'topic'>[] = [];
  new Gauge({
    name: 'headset_consumer_lag_events',
    help: 'Events that a consumer group has not handled yet, by topic. Whole platform: use max, not sum.',
    labelNames: ['group', 'topic'],
    registers: [registry],
    async collect() {
      await Promise.all(
        subscriptions.map(({ group, topic }) =>
          setOrLeaveOut(this, { group, topic }, () => untilDeadline(log.lag(group, topic))),
        ),
      );
    },
  });
  if (log.unusedGroupAgeMs) {
    new Gauge({
      name: 'headset_log_unused_group_age_seconds',
      help: 'Embedded log: time since the last subscription of the consumer group that blocks the deletion of old events and is unused longest; 0: no group blocks it. Whole platform: use max, not sum.',
      registers: [registry],
      collect() {
        this.set((log.unusedGroupAgeMs?.() ?? 0) / 1000);
      },
    });
  }
  const handled = new Counter({
    name: 'headset_consumer_events_total',
    help: 'Events handled by a consumer group, by topic.',
    labelNames: ['group', 'topic'],
    registers: [registry],
  });
  return {
    ensureTopics: (topics) => log.ensureTopics(topics),
    publish: (topic, events, options) => log.publish(topic, events, options),
    subscribe(subscription) {
      const { group, topic } = subscription;
      subscriptions.push({ group, topic });
      return log.subscribe({
        ...subscription,
        async handle(events, batch) {
          await subscription.handle(events, batch);
          handled.inc({ group, topic }, events.length);
        },
      });
    },
    readNewest: (topic, limit) => log.readNewest(topic, limit),
    lag: (group, topic) => log.lag(group, topic),
    committed: (group, topic) => log.committed(group, topic),
    notReady: () => log.notReady(),
    close: () => log.close(),
  };
}
