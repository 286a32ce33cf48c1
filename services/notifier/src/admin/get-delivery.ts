import type { NotifierAdminService } from '@headset-cloud/proto/notifier/v1/admin_pb.ts';
import type { Handlers } from '@headset-cloud/rpc/types.ts';
import { DomainError } from '@headset-cloud/runtime/errors.ts';
import type { DeliveryStore } from '../ports/delivery-store.ts';
import type { Destinations } from '../ports/destinations.ts';
import { waitingHosts } from './hosts.ts';
import { toAttemptMessage, toDeliveryMessage } from './messages.ts';

/** One delivery with its last attempts and its body. Errors: not_found. */
export function getDelivery(
  store: DeliveryStore,
  destinations: Destinations,
): Handlers<typeof NotifierAdminService>['getDelivery'] {
  return async ({ notificationId }) => {
    const delivery = await store.get(notificationId);
    if (!delivery) throw new DomainError('not_found', 'The delivery was not found.');
    const hostOf = await waitingHosts(destinations, [delivery]);
    return {
      delivery: toDeliveryMessage(delivery, hostOf(delivery)),
      recentAttempts: delivery.recentAttempts.map(toAttemptMessage),
      body: delivery.body.toString('utf8'),
    };
  };
}
