import type { NotifierAdminService } from '@headset-cloud/proto/notifier/v1/admin_pb.ts';
import type { Handlers } from '@headset-cloud/rpc/types.ts';
import { DomainError } from '@headset-cloud/runtime/errors.ts';
import { type DeliveryStatus, deliveryStatuses } from '../domain/delivery.ts';
import type { DeliveryStore } from '../ports/delivery-store.ts';
import type { Destinations } from '../ports/destinations.ts';
import { waitingHosts } from './hosts.ts';
import { toDeliveryMessage } from './messages.ts';

const defaultLimit = 100;
const maxLimit = 1000;

/**
 * Deliveries, newest or oldest first. Errors: invalid_argument for an unknown status, too high a limit, or
 * created_after_ms without oldest_first.
 */
export function listDeliveries(
  store: DeliveryStore,
  destinations: Destinations,
): Handlers<typeof NotifierAdminService>['listDeliveries'] {
  return async ({ applicationId, status, limit, oldestFirst, createdAfterMs }) => {
    if (status !== '' && !(deliveryStatuses as readonly string[]).includes(status)) {
      throw new DomainError('invalid_argument', `status is not one of ${deliveryStatuses.join(', ')}.`);
    }
    if (limit > maxLimit) throw new DomainError('invalid_argument', `limit is greater than ${maxLimit}.`);
    if (createdAfterMs !== undefined && !oldestFirst) {
      throw new DomainError('invalid_argument', 'created_after_ms requires oldest_first.');
    }
    const found = await store.list({
      applicationId,
      status: status === '' ? undefined : (status as DeliveryStatus),
      limit: limit || defaultLimit,
      oldestFirst,
      ...(createdAfterMs !== undefined && { createdAfterMs: Number(createdAfterMs) }),
    });
    const hostOf = await waitingHosts(destinations, found);
    return { deliveries: found.map((delivery) => toDeliveryMessage(delivery, hostOf(delivery))) };
  };
}
