import type { NotifierAdminService } from '@headset-cloud/proto/notifier/v1/admin_pb.ts';
import type { Handlers } from '@headset-cloud/rpc/types.ts';
import type { Audit } from '@headset-cloud/rules/audit/outbox.ts';
import type { Clock } from '@headset-cloud/runtime/clock.ts';
import { DomainError } from '@headset-cloud/runtime/errors.ts';
import { laneOf } from '../domain/delivery.ts';
import type { DeliveryStore } from '../ports/delivery-store.ts';
import type { Destinations } from '../ports/destinations.ts';
import type { Scheduler } from '../scheduling/scheduler.ts';
import { waitingHosts } from './hosts.ts';
import { toDeliveryMessage } from './messages.ts';

/**
 * Sends a dead or delivered callback again: same id and body, a new time limit and new attempts, outside the order
 * of its order key. Errors: not_found; conflict when it is pending or replaced.
 */
export function redeliverDelivery(options: {
  store: DeliveryStore;
  destinations: Destinations;
  scheduler: Pick<Scheduler, 'foundWork'>;
  clock: Clock;
  audit: Audit;
}): Handlers<typeof NotifierAdminService>['redeliverDelivery'] {
  const { store, destinations, scheduler, clock, audit } = options;
  return async ({ notificationId }) => {
    const application = (await store.get(notificationId))?.applicationId;
    const subject = { target: notificationId, fields: ['status'], applicationId: application ?? '' };
    const delivery = await audit.change(subject, (record) =>
      store.redeliver(notificationId, clock.now(), record),
    );
    if (!delivery) {
      const present = await store.get(notificationId);
      if (!present) throw new DomainError('not_found', 'The delivery was not found.');
      throw new DomainError(
        'conflict',
        `The delivery is ${present.status}: only a dead or delivered one can be sent again.`,
      );
    }
    scheduler.foundWork(laneOf(delivery.applicationId, delivery.destination));
    const hostOf = await waitingHosts(destinations, [delivery]);
    return { delivery: toDeliveryMessage(delivery, hostOf(delivery)) };
  };
}
